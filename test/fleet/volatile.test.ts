/** Sessions and last uses on several hosts: known to all, and in nobody's way. */

import t, { type Test } from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import { createToken, createUser, endSessions, startSession } from '../../src/identity/index.ts';
import { sessionKind } from '../../src/identity/kinds.ts';
import { forgeLinkKind } from '../../src/measuring/forge/owners.ts';
import { createRule, editRule, ruleNamed } from '../../src/policy/index.ts';
import type { OwnerRecord } from '../../src/store/index.ts';
import { unlimitedMaker } from '../identity/session-world.ts';
import { longestTurn } from '../own-time.ts';
import { startSingle } from '../store/redis-servers.ts';
import { type Member, member, prefix, sharedStore } from './world.ts';

const signIn = ({ ledger }: Member, owner: OwnerRecord) =>
  ledger.documents.transact(({ changes }) =>
    startSession(changes, owner, { via: { is: 'link' }, scopes: [], endsAt: null }, Date.now()),
  );

const sessionsOn = ({ ledger }: Member) =>
  [...ledger.documents.snapshot.all(sessionKind)].map(([key]) => key).sort();

async function two(t: Test) {
  const { address, servers } = await startSingle(t);
  const one = await member(t, { address, host: 'one' });
  const alice = await one.ledger.documents.transact(transaction =>
    createUser(transaction, { name: 'alice' }),
  );
  const other = await member(t, { address, host: 'two' });
  return { server: servers[0], one, other, alice, store: await sharedStore(t, address) };
}

t.test('a session is known and over on every host, and moves no version', async t => {
  const { one, other, alice, store } = await two(t);
  const before = (await store.state()).position;
  const { key } = await signIn(one, alice);
  t.strictSame((await store.state()).position, before);
  await other.fleet.catchUp();
  t.strictSame(sessionsOn(other), [key]);
  await other.ledger.documents.transact(({ changes }) => endSessions(changes, null, () => true));
  await one.fleet.catchUp();
  t.strictSame(sessionsOn(one), []);
});

t.test('sign-ins elsewhere make no change of policy wait, and a token loses none', async t => {
  const { one, other, alice } = await two(t);
  await one.ledger.documents.transact(({ changes }) =>
    createRule(changes, { name: 'total', limitBytes: 0, subjects: [] }),
  );
  const by = { maker: unlimitedMaker, now: Date.now() };
  let drafts = 0;
  for (let change = 1; change <= 20; change += 1) {
    await Promise.all([signIn(other, alice), signIn(other, alice)]);
    await one.ledger.documents.transact(({ changes }) => {
      drafts += 1;
      editRule(changes, 'total', { limitBytes: change });
    });
  }
  t.equal(drafts, 20);
  await Promise.all([
    other.ledger.documents.transact(({ changes }) =>
      createToken(changes, alice, { name: 'ci', scopes: ['all'], expiresAt: null }, by),
    ),
    one.ledger.documents.transact(({ changes }) => editRule(changes, 'total', { limitBytes: 21 })),
  ]);
  await Promise.all([one.fleet.catchUp(), other.fleet.catchUp()]);
  t.equal(ruleNamed(other.ledger.documents.snapshot, 'total')?.limitBytes, 21);
  t.strictSame(sessionsOn(one), sessionsOn(other));
  t.strictSame([...one.ledger.documents.records()].length, [...other.ledger.documents.records()].length);
});

t.test('what this host wrote is not undone by what was read before', async t => {
  const { address } = await startSingle(t);
  let during = async () => {};
  const one = await member(t, {
    address,
    host: 'one',
    through: store => ({
      ...store,
      volatile: async () => {
        const found = await store.volatile();
        await during();
        return found;
      },
    }),
  });
  const alice = await one.ledger.documents.transact(transaction =>
    createUser(transaction, { name: 'alice' }),
  );
  const other = await member(t, { address, host: 'two' });
  const { key } = await signIn(other, alice);
  let later = '';
  during = async () => {
    during = async () => {};
    await one.ledger.documents.transact(({ changes }) => endSessions(changes, null, () => true));
    ({ key: later } = await signIn(one, alice));
  };
  await one.fleet.catchUp();
  await one.fleet.catchUp();
  t.strictSame(sessionsOn(one), [key, later].sort());
});

t.test('a session that another host ended does not come back from a host that was cut off', async t => {
  const { address } = await startSingle(t);
  let isOther = false;
  const one = await member(t, {
    address,
    host: 'one',
    through: store => ({
      ...store,
      state: async () => {
        const state = await store.state();
        return isOther ? { ...state, server: 'another' } : state;
      },
    }),
  });
  const alice = await one.ledger.documents.transact(transaction =>
    createUser(transaction, { name: 'alice' }),
  );
  const other = await member(t, { address, host: 'two' });
  await signIn(one, alice);
  await other.fleet.catchUp();
  await other.ledger.documents.transact(({ changes }) => endSessions(changes, null, () => true));
  const now = performance.now.bind(performance);
  t.intercept(performance, 'now', { value: () => now() + 61_000 });
  isOther = true;
  await one.fleet.catchUp();
  await other.fleet.catchUp();
  for (const host of [one, other]) t.strictSame(sessionsOn(host), []);
});

t.test('very many documents of another host, or that are written again, keep no check waiting', async t => {
  const { one, other, store, server } = await two(t);
  const known = ({ ledger }: Member) => [...ledger.documents.snapshot.all(forgeLinkKind)].length;
  const links = (prefix: string) =>
    Array.from({ length: 20_000 }, (_, at) => ({
      ...{ kind: forgeLinkKind.name, key: `${prefix}-${at}` },
      text: JSON.stringify({ owner: at + 1, name: `owner-${at}`, type: 'user', email: '', isAdmin: false }),
    }));
  // Made before, for each attempt: to make them takes half as long as is allowed.
  const attempts = ['one', 'two', 'three'].map(links);
  let written = 0;
  const longest = await longestTurn(50, async () => {
    const documents = attempts.pop() ?? [];
    for (let at = 0; at < documents.length; at += 1000)
      await store.writeVolatile({ documents: documents.slice(at, at + 1000) });
    written += documents.length;
    await other.fleet.catchUp();
  });
  t.ok(longest < 50, `${Math.round(longest)} ms at once`);
  t.equal(known(other), written);
  const again = await longestTurn(50, async () => {
    await server.cli('flushall');
    await other.fleet.catchUp();
    await other.fleet.catchUp();
  });
  t.ok(again < 50, `${Math.round(again)} ms at once`);
  t.equal((await store.volatile()).length, written);
  await one.fleet.catchUp();
  t.equal(known(one), written);
});

t.test('a store that was never given any, or has lost all, is given those that a host knows', async t => {
  const { one, other, alice, store, server } = await two(t);
  const { key } = await signIn(one, alice);
  await one.fleet.catchUp();
  await server.cli('DEL', `${prefix}:volatile`);
  await one.fleet.catchUp();
  t.match(await store.volatile(), [{ kind: 'session', key }]);
  await other.fleet.catchUp();
  t.strictSame(sessionsOn(other), [key]);
});

t.test('a backup that is put back brings no older session, and the later ones are written again', async t => {
  const { one, other, alice, store, server } = await two(t);
  const { key: renewed } = await signIn(one, alice);
  const keys = [`${prefix}:volatile`, `${prefix}:volatile:changes`];
  for (const key of keys) await server.cli('copy', key, `backup:${key}`);
  await one.ledger.documents.transact(({ changes }) => {
    const session = changes.get(sessionKind, renewed);
    if (session !== undefined) changes.put(sessionKind, renewed, { ...session, stolenAt: 5 });
  });
  const { key: later } = await signIn(other, alice);
  for (const each of [one, other]) await each.fleet.catchUp();
  const stored = async () => (await store.volatile()).map(({ key, text }) => ({ key, ...JSON.parse(text) }));
  const before = await stored();
  for (const key of keys) await server.cli('copy', `backup:${key}`, key, 'replace');
  for (const each of [one, other]) await each.fleet.catchUp();
  t.same(new Set(await stored()), new Set(before));
  for (const each of [one, other]) t.strictSame(sessionsOn(each), [renewed, later].sort());
});

t.test('a change of which only the policy was made says so', async t => {
  const { address } = await startSingle(t);
  let isAway = false;
  const one = await member(t, {
    address,
    host: 'one',
    through: store => ({
      ...store,
      writeVolatile: async change => {
        if (isAway) throw new SoftquotaError('store_away', 'it broke off');
        await store.writeVolatile(change);
      },
    }),
  });
  const alice = await one.ledger.documents.transact(transaction =>
    createUser(transaction, { name: 'alice' }),
  );
  await signIn(one, alice);
  isAway = true;
  const both = one.ledger.documents.transact(({ changes }) => {
    createRule(changes, { name: 'total', limitBytes: 0, subjects: [] });
    endSessions(changes, null, () => true);
  });
  await t.rejects(both, {
    code: 'store_away',
    message: /^the policy was changed; .* perhaps not: it broke off/,
  });
  t.ok(ruleNamed(one.ledger.documents.snapshot, 'total'));
});

t.test('a new store, or one that another write comes to first, deletes nobody’s sessions', async t => {
  const { address, servers } = await startSingle(t);
  const one = await member(t, { address, host: 'one' });
  const alice = await one.ledger.documents.transact(transaction =>
    createUser(transaction, { name: 'alice' }),
  );
  const { key } = await signIn(one, alice);
  await one.close();
  const [server] = servers;
  await server.cli('flushall');
  // It knows the session, and the store knows none.
  const again = await member(t, { address, host: 'one', directory: one.directory });
  t.strictSame(sessionsOn(again), [key]);
  const other = await member(t, { address, host: 'two' });
  t.strictSame(sessionsOn(other), [key]);

  for (const each of [again, other]) await each.fleet.catchUp();
  await server.cli('del', `${prefix}:volatile`);
  const { key: later } = await signIn(other, alice);
  await again.fleet.catchUp();
  await other.fleet.catchUp();
  for (const each of [again, other]) t.strictSame(sessionsOn(each), [key, later].sort());
});
