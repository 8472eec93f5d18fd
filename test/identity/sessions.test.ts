/** Sessions of browsers: who they let in, how their secrets come and go, and what ends them. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import type { Transaction } from '../../src/documents/index.ts';
import {
  createSource,
  createUser,
  deleteSource,
  editSource,
  editUser,
  endSession,
  Identity,
  putLink,
  revokeToken,
  secretKeysOf,
  sessionLimits,
  startSession,
  unlink,
} from '../../src/identity/index.ts';
import { sessionKind, useKind } from '../../src/identity/kinds.ts';
import { parts } from '../../src/turns.ts';
import { silentLog } from '../ledger/world.ts';
import { longestTurn } from '../own-time.ts';
import { nameIn, renewedIn, tokenOf, world } from './session-world.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;
const { lifeMs, idleMs, rotateAfterMs, graceMs, mostOfOne } = sessionLimits;

t.test('a session lets in as the token that it was started with', async t => {
  const { ledger, identity, signIn } = await world(t);
  const token = await tokenOf(ledger, 'Alice', { scopes: ['read:user'] });
  const { value, seconds, document } = await signIn({ token });
  t.equal(seconds, lifeMs / 1000);
  const answer = await identity.authenticateSession(value);
  if (answer.is !== 'caller') throw new Error(answer.is);
  t.match(answer.caller, { name: 'Alice', isAdmin: false, scopes: ['read:user'], expiresAt: null });
  t.ok(answer.caller.mayRead('user'));
  t.notOk(answer.caller.mayWrite('user') || answer.caller.mayRead('organization'));
  const [known] = identity.tokensOf(document.owner);
  t.equal(answer.caller.tokenId, String(known?.id), 'what it changes is the token’s doing');
  t.equal(answer.renewed, null);
});

t.test('what is kept of a session does not let anybody in', async t => {
  const { opened, ledger, identity, signIn } = await world(t);
  const { value, key, document } = await signIn({ token: await tokenOf(ledger, 'alice') });
  const [handle = '', secret = ''] = value.split('.');
  const kept = JSON.stringify([...ledger.documents.snapshot.all(sessionKind)]);
  for (const part of [handle, secret]) t.notOk(kept.includes(part));
  const wrong = [
    '',
    value.toUpperCase(),
    `${handle}.`,
    handle,
    key,
    `${key}.${document.secret}`,
    `${handle.slice(1)}A.${secret}`,
    `${value} `,
    `${value}.`,
  ];
  for (const each of wrong) t.match(await identity.authenticateSession(each), { is: 'refused' }, each);
  t.equal(nameIn(await identity.authenticateSession(value)), 'alice');
  t.notOk(
    [...ledger.documents.records()].some(({ kind }) => kind === 'session'),
    'nor is it in a backup',
  );
  const again = await opened.open();
  const later = new Identity({ documents: again.documents, now: () => document.createdAt, log: silentLog });
  t.equal(nameIn(await later.authenticateSession(value)), 'alice', 'it outlives the daemon');
});

t.test('who signs in gets a handle and a secret of their own, and what was held before is over', async t => {
  const { ledger, identity, signIn } = await world(t);
  const token = await tokenOf(ledger, 'alice');
  const planted = await signIn({ token: await tokenOf(ledger, 'mallory') });
  const { value } = await signIn({ token }, planted.value);
  t.equal(value.split('.').filter(part => planted.value.includes(part)).length, 0);
  t.equal(nameIn(await identity.authenticateSession(value)), 'alice');
  t.match(await identity.authenticateSession(planted.value), { is: 'refused' });
  const guessed = `${value.split('.')[0]}.${planted.value.split('.')[1]}`;
  const other = await signIn({ token }, guessed);
  t.equal(nameIn(await identity.authenticateSession(value)), 'alice', 'half of it ends nothing');
  t.equal(nameIn(await identity.authenticateSession(other.value)), 'alice');
});

t.test('a session ends when its token does', async t => {
  const { clock, ledger, identity, signIn } = await world(t);
  const endsAt = clock.wall() + 1000;
  const expiring = await signIn({
    token: await tokenOf(ledger, 'bob', { name: 'short', expiresAt: endsAt }),
  });
  const kept = await signIn({ token: await tokenOf(ledger, 'dave') });
  t.equal(expiring.seconds, 1);
  t.equal(nameIn(await identity.authenticateSession(expiring.value)), 'bob');
  clock.pass(1000);
  t.match(await identity.authenticateSession(expiring.value), { is: 'refused' });
  t.equal(nameIn(await identity.authenticateSession(kept.value)), 'dave');
});

const making = { keys: secretKeysOf(['k'.repeat(40)]), now: 0 };
const issuer = 'https://login.example';

for (const [what, end] of Object.entries<(transaction: Transaction, source: string) => unknown>({
  'its source is deleted': deleteSource,
  'its source is switched off': (transaction, source) =>
    editSource(transaction, source, { isActive: false }, making),
  'its source gets another provider': (transaction, source) =>
    editSource(transaction, source, { discoveryUrl: 'https://other.example' }, making),
  'its account is unlinked': (transaction, source) => unlink(transaction, source, 'alice'),
  'its account belongs to another user': (transaction, source) => {
    unlink(transaction, source, 'alice');
    putLink(transaction.changes, createUser(transaction, { name: 'bob' }), { issuer, subject: 'a' }, 0);
  },
})) {
  t.test(`a session ends when ${what}, also one that another host starts meanwhile`, async t => {
    const { clock, ledger, identity } = await world(t);
    const { source, started } = await ledger.documents.transact(transaction => {
      const { changes } = transaction;
      const wanted = { name: 'company', discoveryUrl: `${issuer}/`, clientId: 'softquota' };
      const source = createSource(changes, wanted, making);
      const alice = createUser(transaction, { name: 'alice' });
      putLink(changes, alice, { issuer, subject: 'a' }, 0);
      const via = { is: 'source', source: source.id, issuer, subject: 'a' } as const;
      const session = { via, scopes: ['all'], endsAt: null };
      return { source, started: startSession(changes, alice, session, clock.wall()) };
    });
    t.equal(nameIn(await identity.authenticateSession(started.value)), 'alice');
    await identity.signedIn.sweep();
    t.equal(identity.signedIn.sessionsOf(started.document.owner).length, 1);
    await ledger.documents.transact(transaction => end(transaction, String(source.id)));
    const text = JSON.stringify(started.document);
    ledger.documents.applyVolatile({ documents: [{ kind: 'session', key: started.key, text }] });
    t.match(await identity.authenticateSession(started.value), { is: 'refused' });
    await identity.signedIn.sweep();
    t.equal(ledger.documents.snapshot.get(sessionKind, started.key), undefined);
  });
}

t.test('who is let in is looked at again without what was brought', async t => {
  const { clock, ledger, identity, signIn } = await world(t);
  const { value } = await signIn({ token: await tokenOf(ledger, 'alice') });
  const answer = await identity.authenticateSession(value);
  if (answer.is !== 'caller') throw new Error(answer.is);
  await ledger.documents.transact(transaction =>
    editUser(transaction, 'alice', { isAdmin: true, name: 'anna' }),
  );
  t.match(answer.again(), { name: 'anna', isAdmin: true });
  clock.pass(rotateAfterMs);
  await identity.authenticateSession(value);
  clock.pass(2 * graceMs);
  t.match(answer.again(), { name: 'anna' }, 'however long a request goes on');
  await ledger.documents.transact(transaction => editUser(transaction, 'anna', { isAdmin: false }));
  t.match(answer.again(), { isAdmin: false });
  await ledger.documents.transact(transaction =>
    revokeToken(transaction.changes, transaction.mustBeOwner('anna'), 'ci'),
  );
  t.equal(answer.again(), null);
});

t.test('a session ends when it was not used for a week, and after thirty days in any case', async t => {
  const { clock, ledger, identity, signIn } = await world(t);
  const idle = await signIn({ token: await tokenOf(ledger, 'alice') });
  clock.pass(idleMs - 1);
  const used = renewedIn(await identity.authenticateSession(idle.value));
  clock.pass(idleMs);
  t.match(await identity.authenticateSession(used), { is: 'refused' });

  let { value, document } = await signIn({ token: await tokenOf(ledger, 'bob') });
  for (; clock.wall() + dayMs < document.createdAt + lifeMs; ) {
    clock.pass(dayMs);
    value = renewedIn(await identity.authenticateSession(value));
  }
  t.equal(identity.signedIn.sessionsOf(document.owner)[0]?.endsAt, document.createdAt + lifeMs);
  clock.pass(dayMs - 1);
  t.equal(nameIn(await identity.authenticateSession(value)), 'bob');
  clock.pass(1);
  t.match(await identity.authenticateSession(value), { is: 'refused' });
  t.strictSame(identity.signedIn.sessionsOf(document.owner), []);
});

t.test('once a day use replaces the secret; the one before is taken until the new one is used', async t => {
  const { clock, ledger, identity, signIn } = await world(t);
  const { value, document } = await signIn({ token: await tokenOf(ledger, 'alice') });
  clock.pass(rotateAfterMs - 1);
  t.match(await identity.authenticateSession(value), { is: 'caller', renewed: null });
  clock.pass(1);
  const together = await Promise.all([1, 2, 3].map(() => identity.authenticateSession(value)));
  const renewed = new Set(together.map(renewedIn));
  t.equal(renewed.size, 1, 'of requests that come together all are given the same');
  const [next = ''] = renewed;
  t.not(next, value);
  const transact = t.capture(ledger.documents, 'transact', ledger.documents.transact);
  for (const pause of [0, 1, graceMs - 2]) {
    clock.pass(pause);
    for (const held of [next, value])
      t.match(await identity.authenticateSession(held), { is: 'caller', renewed: null });
  }
  t.equal(transact().length, 1, 'the first use of the new one is the only write');
  t.equal(
    identity.signedIn.sessionsOf(document.owner)[0]?.document.id,
    document.id,
    'it is the same session',
  );
  t.match(
    await ledger.eventLog.events({ limit: 10, kinds: ['policy'] }),
    { length: 4 },
    'owner, profile, token and session: a new secret is nothing to tell of',
  );
});

t.test('a new secret that never reached the browser ends no session', async t => {
  const { clock, ledger, identity, signIn, warned } = await world(t);
  const { value } = await signIn({ token: await tokenOf(ledger, 'alice') });
  clock.pass(rotateAfterMs);
  const lost = renewedIn(await identity.authenticateSession(value));
  clock.pass(2 * dayMs);
  const next = renewedIn(await identity.authenticateSession(value));
  t.not(next, lost, 'the answer with the other one got lost');
  t.equal(nameIn(await identity.authenticateSession(next)), 'alice');
  t.strictSame(warned, []);
  t.match(await identity.authenticateSession(lost), { is: 'refused' }, 'somebody has it after all');
  t.equal(warned.length, 1);
  t.match(await identity.authenticateSession(next), { is: 'refused' });
});

t.test('a request is not given the secret that one with another secret gets at that moment', async t => {
  const { clock, ledger, identity, signIn, warned } = await world(t);
  const { value } = await signIn({ token: await tokenOf(ledger, 'alice') });
  clock.pass(rotateAfterMs);
  const next = renewedIn(await identity.authenticateSession(value));
  clock.pass(graceMs);
  const together = await Promise.all([value, next].map(each => identity.authenticateSession(each)));
  t.match(together, [{ is: 'caller' }, { is: 'caller', renewed: null }]);
  t.match(await identity.authenticateSession(value), { is: 'refused' }, 'two have the session');
  t.equal(warned.length, 1);
});

t.test('a secret that comes back after it was replaced ends the session for both who have it', async t => {
  const { clock, ledger, identity, signIn, warned } = await world(t);
  const { value, document } = await signIn({ token: await tokenOf(ledger, 'alice') });
  clock.pass(rotateAfterMs);
  const next = renewedIn(await identity.authenticateSession(value));
  t.equal(nameIn(await identity.authenticateSession(next)), 'alice', 'it is used once, and at once');
  clock.pass(graceMs);
  t.strictSame(warned, []);
  t.match(await identity.authenticateSession(value), { is: 'refused' });
  t.match(warned, [/had been replaced/]);
  t.match(await identity.authenticateSession(next), { is: 'refused' });
  t.match(await identity.authenticateSession(value), { is: 'refused' });
  t.equal(warned.length, 1, 'once is enough');
  t.strictSame(identity.signedIn.sessionsOf(document.owner), []);
  const [event] = await ledger.eventLog.events({ limit: 1, kinds: ['policy'] });
  t.match(JSON.parse(event?.text ?? ''), {
    by: null,
    action: 'edited',
    what: 'session',
    owner: 'alice',
    before: { id: document.id, stolen: false },
    after: { id: document.id, stolen: true },
  });
});

t.test('a secret that another host replaced a moment ago is no theft', async t => {
  const { clock, ledger, identity, signIn, warned } = await world(t);
  const { value, key } = await signIn({ token: await tokenOf(ledger, 'alice') });
  clock.pass(rotateAfterMs);
  const before = ledger.documents.snapshot.get(sessionKind, key);
  const next = renewedIn(await identity.authenticateSession(value));
  // This one knows the session as it was, until it asks what others changed.
  let knowsLatest = false;
  const late = new Identity({
    documents: {
      snapshot: {
        get: (kind, at) =>
          // The session stays as this one read it.
          !knowsLatest && kind.name === 'session'
            ? (before as never)
            : ledger.documents.snapshot.get(kind, at),
        all: kind => ledger.documents.snapshot.all(kind),
        ofOwner: (kind, id) => ledger.documents.snapshot.ofOwner(kind, id),
      },
      owners: ledger.documents.owners,
      transact: (change, by) => ledger.documents.transact(change, by),
      transactInSlices: (change, by) => ledger.documents.transactInSlices(change, by),
      catchUp: async () => {
        knowsLatest = true;
      },
      takeLease: async () => true,
    },
    now: () => clock.wall(),
    log: silentLog,
  });
  t.teardown(() => late.close());
  t.equal(nameIn(await late.authenticateSession(next)), 'alice');
  t.ok(knowsLatest);
  t.strictSame(warned, []);
  clock.pass(graceMs);
  t.match(await late.authenticateSession(value), { is: 'refused' }, 'the use there was recorded');
});

t.test('while the store is away a session goes on with the secret that it has', async t => {
  const { clock, opened, ledger, identity, signIn } = await world(t);
  const token = await tokenOf(ledger, 'alice');
  const { value } = await signIn({ token });
  await opened.close();
  clock.pass(rotateAfterMs);
  t.match(await identity.authenticateSession(value), { is: 'caller', renewed: null });
  await t.rejects(signIn({ token }), { code: 'store_away' });
});

t.test('the last use is known at once, and written now and then with those of tokens', async t => {
  const { clock, ledger, identity, signIn } = await world(t);
  const { value, document, key } = await signIn({ token: await tokenOf(ledger, 'alice') });
  clock.pass(minuteMs);
  const transact = t.capture(ledger.documents, 'transact', ledger.documents.transact);
  await identity.authenticateSession(value);
  t.equal(transact().length, 0, 'no request makes a write');
  t.equal(identity.signedIn.sessionsOf(document.owner)[0]?.lastUsedAt, clock.wall());
  t.equal(identity.tokensOf(document.owner)[0]?.lastUsedAt, clock.wall(), 'it is a use of the token, too');
  await identity.close();
  t.equal(ledger.documents.snapshot.get(useKind, key)?.at, clock.wall());
});

t.test('sessions that are over are taken out of the store', async t => {
  const { clock, ledger, identity, signIn } = await world(t);
  const old = await signIn({ token: await tokenOf(ledger, 'alice') });
  clock.pass(idleMs - 1);
  const kept = await signIn({ token: await tokenOf(ledger, 'bob') });
  await identity.signedIn.sweep();
  t.ok(ledger.documents.snapshot.get(sessionKind, old.key));
  clock.pass(1);
  await identity.signedIn.sweep();
  t.equal(ledger.documents.snapshot.get(sessionKind, old.key), undefined);
  t.ok(ledger.documents.snapshot.get(sessionKind, kept.key));
});

t.test('a session that another host saw in use is not taken out by one that did not hear of it', async t => {
  const { clock, ledger, identity, signIn } = await world(t);
  const { key } = await signIn({ token: await tokenOf(ledger, 'alice') });
  clock.pass(idleMs);
  t.intercept(ledger.documents, 'catchUp', {
    value: async () => {
      const text = JSON.stringify({ at: clock.wall() });
      ledger.documents.applyVolatile({ documents: [{ kind: useKind.name, key, text }] });
    },
  });
  await identity.signedIn.sweep();
  t.ok(ledger.documents.snapshot.get(sessionKind, key));
});

t.test('sweeping very many sessions keeps nobody waiting', async t => {
  const { ledger, signIn } = await world(t);
  const { document } = await signIn({ token: await tokenOf(ledger, 'alice') });
  const session = { ...document, via: { is: 'link' } };
  const sessions = (count: number, stolenAt: number | null) =>
    Array.from({ length: count }, (_, id) => ({
      kind: 'session',
      key: `session ${id} ${stolenAt}`,
      text: JSON.stringify({ ...session, id, stolenAt }),
    }));
  const [kept, over] = [sessions(60_000, null), sessions(5000, 0)];
  ledger.documents.applyVolatile({ documents: kept });
  const signedIn = new Identity({ documents: ledger.documents, now: () => 0, log: silentLog }).signedIn;
  const turn = await longestTurn(20, async () => {
    for (const documents of parts(over, 500)) {
      ledger.documents.applyVolatile({ documents });
      await nextTurn();
    }
    await signedIn.sweep();
  });
  t.ok(turn < 20, `${turn} ms`);
  t.equal([...ledger.documents.snapshot.all(sessionKind)].length, kept.length + 1);
});

t.test('a user has so many sessions at most; the one that was not used for longest makes room', async t => {
  const { clock, ledger, identity, signIn } = await world(t);
  const by = { token: await tokenOf(ledger, 'alice') };
  const first = await signIn(by);
  const second = await signIn(by);
  const others = await signIn({ token: await tokenOf(ledger, 'bob') });
  clock.pass(minuteMs);
  await identity.authenticateSession(first.value);
  await identity.close();
  for (let count = 2; count <= mostOfOne; count++) await signIn(by);
  t.equal(identity.signedIn.sessionsOf(first.document.owner).length, mostOfOne);
  t.equal(nameIn(await identity.authenticateSession(first.value)), 'alice');
  t.match(await identity.authenticateSession(second.value), { is: 'refused' });
  t.equal(nameIn(await identity.authenticateSession(others.value)), 'bob');
});

t.test('a session is ended by its id, and only where it is that user’s', async t => {
  const { ledger, identity, signIn } = await world(t);
  const { value, document } = await signIn({ token: await tokenOf(ledger, 'alice') });
  await tokenOf(ledger, 'bob');
  const end = (name: string) =>
    ledger.documents.transact(transaction =>
      endSession(transaction.changes, transaction.mustBeOwner(name), `${document.id}`),
    );
  await t.rejects(end('bob'), { code: 'not_found' });
  t.equal(nameIn(await identity.authenticateSession(value)), 'alice');
  await end('alice');
  t.match(await identity.authenticateSession(value), { is: 'refused' });
});
