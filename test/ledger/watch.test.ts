/** Watchers of the ledger hear of every change that a decision may depend on, and of nothing else. */

import t from 'tap';
import { createUser, identityKinds, roleIn, setMember } from '../../src/identity/index.ts';
import { assign, createGroup, editRule, setGroups, unassign } from '../../src/policy/index.ts';
import { lfs, repos, SetClock, settings, sweepOnce, World, walk } from './world.ts';

t.test('a change of what an owner stores is told with the owner’s key', async t => {
  const ledger = await new World(t).open();
  const told: (string | null)[] = [];
  const since = () => told.splice(0);
  const unwatch = ledger.watch(key => told.push(key));
  walk(ledger, 'Alice/app', 5);
  t.strictSame(since(), ['alice']);
  walk(ledger, 'Alice/app', 5);
  t.strictSame(since(), [], 'the same size is no news');
  walk(ledger, 'Alice/app', 0, { leaf: lfs });
  t.strictSame(since(), ['alice']);
  walk(ledger, 'Alice/app', 5, { owner: 'bob' });
  t.strictSame(since(), ['alice', 'bob']);
  ledger.walks.recordUnread('/srv/git/Alice/app.git', ledger.walks.nextSeq());
  t.strictSame(since(), ['bob'], 'some of it could not be measured');
  walk(ledger, 'nobody/app', 5, { owner: null });
  t.strictSame(since(), []);
  ledger.walks.recordGone('/srv/git/Alice/app.git', ledger.walks.nextSeq());
  t.strictSame(since(), ['bob']);
  await ledger.reports.reportUnit('carol', lfs, 'store', 7);
  t.strictSame(since(), ['carol']);
  unwatch();
  walk(ledger, 'Alice/app', 6);
  t.strictSame(since(), []);
});

t.test('a delta is told when it comes and when it goes', async t => {
  const clock = new SetClock();
  const ledger = await new World(t, { clock }).open();
  walk(ledger, 'alice/app', 5);
  const told: (string | null)[] = [];
  ledger.watch(key => told.push(key));
  await ledger.reports.addDelta('alice', repos, 10);
  t.strictSame(told.splice(0), ['alice']);
  walk(ledger, 'alice/app', 5);
  t.strictSame(told.splice(0), ['alice'], 'a walk has overtaken it');
});

t.test('a change of policy may be anybody’s', async t => {
  const ledger = await new World(t).open();
  const told: (string | null)[] = [];
  ledger.watch(key => told.push(key));
  ledger.settings = { ...settings, totalBytes: 1 };
  t.strictSame(told, [null]);
  await ledger.documents.transact(() => 'nothing');
  t.strictSame(told, [null], 'not where nothing changed');
});

t.test('who is in which group bears on those who are named, rules and groups on anybody', async t => {
  const ledger = await new World(t).open();
  walk(ledger, 'Alice/app', 5);
  walk(ledger, 'bob/app', 5);
  const told: (string | null)[] = [];
  ledger.watch(key => told.push(key));
  const idOf = (name: string) => ledger.documents.owners.named(name)?.id ?? 0;
  await ledger.documents.transact(({ changes }) =>
    createGroup(changes, { name: 'free', rules: [{ name: 'all', limitBytes: 7 }] }),
  );
  t.strictSame(told.splice(0), [null]);
  await ledger.documents.transact(({ changes }) => assign(changes, idOf('alice'), 'free'));
  t.strictSame(told.splice(0), ['alice']);
  await ledger.documents.transact(({ changes }) => setGroups(changes, idOf('bob'), ['free']));
  t.strictSame(told.splice(0), ['bob']);
  await ledger.documents.transact(({ changes }) => unassign(changes, idOf('alice'), 'free'));
  t.strictSame(told.splice(0), ['alice']);
  await ledger.documents.transact(({ changes }) => editRule(changes, 'all', { limitBytes: 9 }));
  t.strictSame(told.splice(0), [null]);
  await ledger.documents.transact(transaction => transaction.renameOwner('bob', 'Bill', () => false));
  t.strictSame(
    told.splice(0),
    [null, 'bob'],
    'and whoever goes, or gives a name away, on what is kept of anybody; who has it now is told, too',
  );
});

t.test('watchers are told when bytes become partial, and when they are whole again', async t => {
  const ledger = await new World(t).open();
  sweepOnce(ledger);
  const { path, bytes } = walk(ledger, 'alice/app', 10);
  const told: (string | null)[] = [];
  ledger.watch(key => told.push(key));
  const isPartial = () => ledger.ownerUsage('alice').partial;
  for (let times = 0; times < 2; times += 1) ledger.walks.recordUnread(path, ledger.walks.nextSeq());
  t.strictSame([told.splice(0), isPartial()], [['alice'], true]);
  for (let times = 0; times < 2; times += 1) walk(ledger, 'alice/app', bytes);
  t.strictSame([told, isPartial()], [['alice'], false]);
});

t.test('what no decision depends on is kept without a word', async t => {
  const world = new World(t, { kinds: identityKinds });
  const ledger = await world.open();
  const told: (string | null)[] = [];
  ledger.watch(key => told.push(key));
  const acme = await ledger.documents.transact(transaction =>
    createUser(transaction, { name: 'acme', type: 'organization' }),
  );
  const alice = await ledger.documents.transact(transaction => createUser(transaction, { name: 'alice' }));
  t.strictSame(told.splice(0), ['acme', 'alice'], 'there are more whom decisions are about');
  const { policy } = ledger;
  await ledger.documents.transact(({ changes }) => setMember(changes, acme, alice, 'owner'));
  t.strictSame(told, []);
  t.equal(ledger.policy, policy, 'what was put together goes on being used');
  t.equal(roleIn((await world.open()).documents.snapshot, acme.id, alice.id), 'owner');
});
