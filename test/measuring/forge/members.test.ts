/** Members of organizations, as a forge has them. */

import t, { type Test } from 'tap';
import { identityKinds, membersOf, type Role } from '../../../src/identity/index.ts';
import { syncMembers, syncOwners } from '../../../src/measuring/forge/owners.ts';
import { forgeLinkKinds } from '../../../src/measuring/index.ts';
import { World } from '../../ledger/world.ts';
import { longestTurn } from '../../own-time.ts';

const organization = 1;
const kinds = [...identityKinds, ...forgeLinkKinds];
const acme = { id: organization, name: 'acme', type: 'organization' } as const;

async function open(t: Test, users: number) {
  const ledger = await new World(t, { kinds }).open();
  const { documents } = ledger;
  const ids = Array.from({ length: users }, (_, index) => organization + 1 + index);
  const people = ids.map(id => ({ id, name: `user${id}`, type: 'user' as const }));
  const owners = [acme, ...people].map(owner => ({ ...owner, email: '', isAdmin: false }));
  await documents.transactInSlices(transaction => syncOwners(transaction, owners));
  return { ledger, documents, ids };
}

t.test('members come and go as in the forge, and who stays keeps the place', async t => {
  const { ledger, documents, ids } = await open(t, 4);
  const [first = 0, second = 0, third = 0, fourth = 0] = ids;
  const sync = (owners: readonly number[], members: readonly number[]) =>
    documents.transactInSlices(transaction => syncMembers(transaction, [{ organization, owners, members }]));
  const names = () =>
    membersOf(documents.snapshot, documents.owners.named('acme')?.id ?? 0).map(
      ({ user, role }): [string | undefined, Role] => [documents.owners.byId(user)?.name, role],
    );
  const events = async () => (await ledger.eventLog.events({ kinds: ['policy'], limit: 100 })).length;
  await sync([first], [first, second, third]);
  t.strictSame(names(), [
    [`user${first}`, 'owner'],
    [`user${second}`, 'member'],
    [`user${third}`, 'member'],
  ]);
  const before = await events();
  await sync([first], [third, second, first]);
  t.equal(await events(), before, 'nothing has changed');
  await sync([third], [fourth, first, third]);
  t.strictSame(names(), [
    [`user${first}`, 'member'],
    [`user${third}`, 'owner'],
    [`user${fourth}`, 'member'],
  ]);
  t.equal(await events(), before + 1);
  await documents.transactInSlices(transaction => syncMembers(transaction, []));
  t.strictSame(names(), []);
});

t.test('an event has the members who differ, and of very many the first fifty', async t => {
  const { ledger, documents, ids } = await open(t, 60);
  const newest = async () => {
    const [event] = await ledger.eventLog.events({ kinds: ['policy'], limit: 1 });
    const { what, before, after } = JSON.parse(event?.text ?? '{}');
    return { what, before, after };
  };
  const sync = async (owners: readonly number[], members: readonly number[]) => {
    const told = [{ organization, owners, members }];
    await documents.transactInSlices(transaction => syncMembers(transaction, told));
    return newest();
  };
  const first = ids.slice(0, 50).map(id => ({ user: `user${id}`, role: 'member' }));
  const all = { members: first, members_count: 60 };
  const [one = 0, two = 0, ...others] = ids;
  t.strictSame(await sync([], ids), { what: 'members', before: null, after: all });
  t.strictSame(await sync([two], others), {
    what: 'members',
    before: { members: first.slice(0, 2) },
    after: { members: [{ user: `user${two}`, role: 'owner' }] },
  });
  t.strictSame(await sync([two], [one, ...others]), {
    what: 'members',
    before: { members: [] },
    after: { members: [{ user: `user${one}`, role: 'member' }] },
  });
  t.match(await sync([], []), { before: { members_count: 60 }, after: null });
});

t.test('very many members of one organization keep nobody waiting', async t => {
  const { documents, ids } = await open(t, 20_000);
  const members = [{ organization, owners: [], members: ids }];
  const turn = await longestTurn(200, () =>
    documents.dryRunInSlices(transaction => syncMembers(transaction, members)),
  );
  t.ok(turn < 200, `${turn} ms`);
});
