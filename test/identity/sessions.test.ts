/** Sessions of browsers: who they let in, how their secrets come and go, and what ends them. */

import t, { type Test } from 'tap';
import {
  type Authentication,
  createToken,
  createUser,
  deleteUser,
  editUser,
  endSession,
  Identity,
  type IdentityOptions,
  identityKinds,
  linkLifeMs,
  localAdministrator,
  type NewToken,
  revokeToken,
  type SignIn,
  sessionLimits,
  startSession,
} from '../../src/identity/index.ts';
import { sessionKind, useKind } from '../../src/identity/kinds.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { SetClock, silentLog, World } from '../ledger/world.ts';

const here = '192.0.2.7';
const minuteMs = 60_000;
const dayMs = 86_400_000;
const { lifeMs, idleMs, rotateAfterMs, graceMs, mostOfOne } = sessionLimits;

async function world(t: Test, options: Partial<IdentityOptions> = {}) {
  const clock = new SetClock();
  const opened = new World(t, { kinds: identityKinds, clock });
  const ledger = await opened.open();
  const warned: string[] = [];
  const log = { ...silentLog, warn: (_: object, words: string) => void warned.push(words) };
  const identity = new Identity({ documents: ledger.documents, now: () => clock.wall(), log, ...options });
  t.teardown(() => identity.close());
  const signIn = async (by: SignIn, held: string | null = null) => {
    const result = await identity.signIn(by, here, held);
    if (result.is !== 'signed in') throw new Error(result.is);
    return result.started;
  };
  return { clock, opened, ledger, identity, signIn, warned };
}

async function tokenOf(ledger: Ledger, name: string, wanted: Partial<NewToken> = {}): Promise<string> {
  const made = await ledger.documents.transact(transaction => {
    const owner = transaction.owner(name) ?? createUser(transaction, { name });
    const token = { name: 'ci', scopes: ['all'], expiresAt: null, ...wanted };
    return createToken(transaction.changes, owner, token, { maker: localAdministrator, now: 0 });
  });
  return made.token;
}

function nameIn(answer: Authentication): string | null {
  return answer.is === 'caller' ? answer.caller.name : `(${answer.is})`;
}

function renewedIn(answer: Authentication): string {
  if (answer.is !== 'caller' || answer.renewed === null) throw new Error(`not renewed: ${answer.is}`);
  return answer.renewed.value;
}

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

t.test('a session ends with its token: revoked, expired, or with its user', async t => {
  const { clock, ledger, identity, signIn } = await world(t);
  const endsAt = clock.wall() + 1000;
  const revoked = await signIn({ token: await tokenOf(ledger, 'alice') });
  const expiring = await signIn({
    token: await tokenOf(ledger, 'bob', { name: 'short', expiresAt: endsAt }),
  });
  const deleted = await signIn({ token: await tokenOf(ledger, 'carol') });
  const kept = await signIn({ token: await tokenOf(ledger, 'dave') });
  t.equal(expiring.seconds, 1);
  await ledger.documents.transact(transaction => {
    revokeToken(transaction.changes, transaction.mustBeOwner('alice'), 'ci');
    deleteUser(transaction, 'carol');
  });
  for (const { value, key } of [revoked, deleted]) {
    t.match(await identity.authenticateSession(value), { is: 'refused' });
    t.equal(ledger.documents.snapshot.get(sessionKind, key), undefined);
  }
  t.equal(nameIn(await identity.authenticateSession(expiring.value)), 'bob');
  clock.pass(1000);
  t.match(await identity.authenticateSession(expiring.value), { is: 'refused' });
  t.equal(nameIn(await identity.authenticateSession(kept.value)), 'dave');
});

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
  t.equal(identity.sessionsOf(document.owner)[0]?.endsAt, document.createdAt + lifeMs);
  clock.pass(dayMs - 1);
  t.equal(nameIn(await identity.authenticateSession(value)), 'bob');
  clock.pass(1);
  t.match(await identity.authenticateSession(value), { is: 'refused' });
  t.strictSame(identity.sessionsOf(document.owner), []);
});

t.test('once a day its use replaces the secret; the one before is taken for a minute more', async t => {
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
  t.match(await identity.authenticateSession(next), { is: 'caller', renewed: null });
  clock.pass(graceMs - 1);
  t.equal(
    renewedIn(await identity.authenticateSession(value)),
    next,
    'who was not reached by it is given it again',
  );
  t.equal(identity.sessionsOf(document.owner)[0]?.document.id, document.id, 'it is the same session');
  t.match(
    await ledger.eventLog.events({ limit: 10, kind: 'policy' }),
    { length: 4 },
    'owner, profile, token and session: a new secret is nothing to tell of',
  );
});

t.test('a secret that comes back after it was replaced ends the session for both who have it', async t => {
  const { clock, ledger, identity, signIn, warned } = await world(t);
  const { value, document } = await signIn({ token: await tokenOf(ledger, 'alice') });
  clock.pass(rotateAfterMs);
  const next = renewedIn(await identity.authenticateSession(value));
  clock.pass(graceMs);
  t.equal(nameIn(await identity.authenticateSession(next)), 'alice');
  t.strictSame(warned, []);
  t.match(await identity.authenticateSession(value), { is: 'refused' });
  t.match(warned, [/had been replaced/]);
  t.match(await identity.authenticateSession(next), { is: 'refused' });
  t.match(await identity.authenticateSession(value), { is: 'refused' });
  t.equal(warned.length, 1, 'once is enough');
  t.strictSame(identity.sessionsOf(document.owner), []);
  const [event] = await ledger.eventLog.events({ limit: 1, kind: 'policy' });
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
          // Of this kind, as it was read from there.
          !knowsLatest && kind.name === 'session'
            ? (before as never)
            : ledger.documents.snapshot.get(kind, at),
        all: kind => ledger.documents.snapshot.all(kind),
        ofOwner: (kind, id) => ledger.documents.snapshot.ofOwner(kind, id),
      },
      owners: ledger.documents.owners,
      transact: (change, by) => ledger.documents.transact(change, by),
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
  t.equal(identity.sessionsOf(document.owner)[0]?.lastUsedAt, clock.wall());
  t.equal(identity.tokensOf(document.owner)[0]?.lastUsedAt, clock.wall(), 'it is a use of the token, too');
  await identity.close();
  t.equal(ledger.documents.snapshot.get(useKind, key)?.at, clock.wall());
});

t.test('sessions that are over are taken out of the store', async t => {
  const { clock, ledger, identity, signIn } = await world(t);
  const old = await signIn({ token: await tokenOf(ledger, 'alice') });
  clock.pass(idleMs - 1);
  const kept = await signIn({ token: await tokenOf(ledger, 'bob') });
  await identity.sweep();
  t.ok(ledger.documents.snapshot.get(sessionKind, old.key));
  clock.pass(1);
  await identity.sweep();
  t.equal(ledger.documents.snapshot.get(sessionKind, old.key), undefined);
  t.ok(ledger.documents.snapshot.get(sessionKind, kept.key));
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
  t.equal(identity.sessionsOf(first.document.owner).length, mostOfOne);
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

t.test('a link signs in once, for ten minutes, as far as its maker may', async t => {
  const { clock, ledger, identity, signIn } = await world(t);
  await tokenOf(ledger, 'alice');
  const ownerId = ledger.documents.owners.named('alice')?.id ?? 0;
  const endsAt = clock.wall() + dayMs;
  const make = () => identity.makeSignInLink({ ownerId, scopes: ['read:user'], endsAt });
  const { code, until } = make();
  t.equal(until, clock.wall() + linkLifeMs);
  t.match(code, /^[\w-]{43}$/);
  const { value, document } = await signIn({ code });
  t.match(document, { owner: ownerId, via: { is: 'link' }, scopes: ['read:user'], endsAt });
  t.match(await identity.authenticateSession(value), { caller: { name: 'alice', expiresAt: endsAt } });
  await t.rejects(signIn({ code }), /refused/);
  const late = make();
  clock.pass(linkLifeMs);
  await t.rejects(signIn({ code: late.code }), /refused/);
  const outlived = make();
  await ledger.documents.transact(transaction => deleteUser(transaction, 'alice'));
  await t.rejects(signIn({ code: outlived.code }), /refused/);
});

t.test('there are only so many links at a time; the oldest makes room', async t => {
  const { ledger, identity, signIn } = await world(t);
  await tokenOf(ledger, 'alice');
  const ownerId = ledger.documents.owners.named('alice')?.id ?? 0;
  const make = () => identity.makeSignInLink({ ownerId, scopes: ['all'], endsAt: null }).code;
  const [oldest, second] = [make(), make()];
  for (let count = 2; count <= 1000; count++) make();
  await t.rejects(signIn({ code: oldest }), /refused/);
  await t.resolves(signIn({ code: second }));
});

t.test(
  'wrong tokens and links to sign in by count against the address, what a browser holds does not',
  async t => {
    const { ledger, identity, signIn } = await world(t, { limits: { wrongTries: 3, perSeconds: 60 } });
    const { value } = await signIn({ token: await tokenOf(ledger, 'alice') });
    const held = `${'A'.repeat(22)}.${'A'.repeat(43)}`;
    for (let tried = 0; tried < 10; tried++) await identity.authenticateSession(held);
    const attempt = async (by: SignIn) => (await identity.signIn(by, here, null)).is;
    t.equal(await attempt({ token: '0'.repeat(40) }), 'refused');
    t.equal(await attempt({ code: 'wrong' }), 'refused');
    t.match(await identity.authenticate('token wrong', here), { is: 'refused' });
    t.equal(await attempt({ token: '0'.repeat(40) }), 'slowed');
    const ownerId = ledger.documents.owners.named('alice')?.id ?? 0;
    const { code } = identity.makeSignInLink({ ownerId, scopes: ['all'], endsAt: null });
    t.equal(await attempt({ code: 'wrong' }), 'slowed');
    t.equal(await attempt({ code }), 'signed in', 'a good one always is');
    t.equal(await attempt({ token: await tokenOf(ledger, 'alice', { name: 'other' }) }), 'signed in');
    t.equal(nameIn(await identity.authenticateSession(value)), 'alice');
  },
);

t.test('only users sign in', async t => {
  const { ledger, identity } = await world(t);
  const session = { via: { is: 'link' }, scopes: ['all'], endsAt: null } as const;
  const start = (name: string) =>
    ledger.documents.transact(transaction =>
      startSession(transaction.changes, transaction.mustBeOwner(name), session, 0),
    );
  await ledger.documents.transact(transaction =>
    createUser(transaction, { name: 'acme', type: 'organization' }),
  );
  await t.rejects(start('acme'), { code: 'invalid', message: /acme is an organization/ });
  await ledger.documents.transact(transaction => createUser(transaction, { name: 'alice' }));
  const { value, key } = await start('alice');
  await ledger.documents.transact(transaction => editUser(transaction, 'alice', { type: 'organization' }));
  t.equal(
    ledger.documents.snapshot.get(sessionKind, key),
    undefined,
    'who becomes an organization is signed out',
  );
  t.match(await identity.authenticateSession(value), { is: 'refused' });
});
