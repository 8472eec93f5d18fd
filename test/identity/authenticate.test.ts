/** Credentials that are let in, those that are not, and those that have to wait. */

import t from 'tap';
import { createToken, Identity, revokeToken } from '../../src/identity/index.ts';
import { until } from '../e2e/ask.ts';
import { silentLog } from '../ledger/world.ts';
import { make, nameIn, world } from './session-world.ts';

const here = '192.0.2.7';
const elsewhere = '198.51.100.7';
const few = { wrongTries: 3, perSeconds: 60 };
const wrong = `token ${'0'.repeat(40)}`;

t.test('a token is taken as token, as Bearer, and as the password of Basic, whoever asks', async t => {
  const { ledger, identity } = await world(t);
  const { token, document } = await make(ledger, 'Alice');
  t.match(token, /^[0-9a-f]{40}$/);
  t.equal(document.lastEight, token.slice(-8));
  const basic = (text: string) => Buffer.from(text).toString('base64');
  const taken = [
    `token ${token}`,
    `Token ${token}`,
    `Bearer ${token}`,
    `bearer  ${token} `,
    `Basic ${basic(`alice:${token}`)}`,
    `basic ${basic(`:${token}`)}`,
  ];
  for (const header of taken) t.equal(nameIn(await identity.authenticate(header, here)), 'Alice', header);
  t.match(await identity.authenticate(undefined, here), { is: 'none' });
});

t.test('nothing tells why a token is refused', async t => {
  const { clock, ledger, identity } = await world(t);
  const revoked = await make(ledger, 'alice');
  await ledger.documents.transact(transaction =>
    revokeToken(transaction.changes, transaction.mustBeOwner('alice'), 'ci'),
  );
  const expired = await make(ledger, 'bob', { expiresAt: clock.wall() + 10 });
  t.equal(nameIn(await identity.authenticate(`token ${expired.token}`, here)), 'bob');
  clock.pass(10);
  const refused = [
    wrong,
    `token ${revoked.token}`,
    `token ${expired.token}`,
    `token ${expired.token.toUpperCase()}`,
    `token ${expired.token.slice(1)}`,
    expired.token,
    '',
    'Basic !!!',
    `Basic ${Buffer.from(expired.token).toString('base64')}`,
    `Digest ${expired.token}`,
  ];
  for (const header of refused) {
    t.strictSame(await identity.authenticate(header, elsewhere), { is: 'refused' }, header);
  }
});

t.test('what is kept of a token does not let anybody in', async t => {
  const { ledger, identity } = await world(t);
  const { token } = await make(ledger, 'alice');
  const kept = JSON.stringify([...ledger.documents.records()]);
  t.notOk(kept.includes(token));
  for (const { key } of ledger.documents.records()) {
    t.match(await identity.authenticate(`token ${key}`, here), { is: 'refused' });
  }
});

t.test('being slowed comes to an end', async t => {
  const { identity } = await world(t, { limits: { wrongTries: 1, perSeconds: 1 } });
  const is = async () => (await identity.authenticate(wrong, here)).is;
  await until(async () => ((await is()) === 'slowed' ? true : null));
  t.equal(await until(async () => ((await is()) === 'refused' ? true : null)), true);
});

t.test('an address is the same as IPv6, and those of one IPv6 subscriber are one network', async t => {
  const { ledger, identity } = await world(t, { limits: few });
  const from = async (address: string) => (await identity.authenticate(wrong, address)).is;
  const known = await make(ledger, 'alice');
  for (let tried = 0; tried < few.wrongTries; tried++) t.equal(await from(here), 'refused');
  t.equal(await from(`::ffff:${here}`), 'slowed');
  t.equal(nameIn(await identity.authenticate(`token ${known.token}`, here)), 'alice', 'a good one never is');
  const subscriber = ['2001:db8:1:2::1', '2001:0db8:1:2:3:4:5:6', '2001:db8:1:2:ffff::'];
  for (const address of subscriber) t.equal(await from(address), 'refused', address);
  t.equal(await from('2001:db8:1:2:0:0:0:9'), 'slowed');
  t.equal(await from('2001:db8:1:3::1'), 'refused');
  t.equal(await from('2001:db8::1'), 'refused');
  t.equal(await from('::1'), 'refused');
});

t.test('the last use of a token is known at once, kept in one write, and there after a restart', async t => {
  const { clock, opened, ledger, identity } = await world(t);
  const tokens = await Promise.all(['alice', 'bob', 'carol'].map(name => make(ledger, name)));
  const lastUses = (of: Identity) =>
    tokens.map(({ document }) => of.tokensOf(document.owner).map(({ lastUsedAt }) => lastUsedAt));
  t.strictSame(lastUses(identity), [[null], [null], [null]]);
  const transact = t.capture(ledger.documents, 'transact', ledger.documents.transact);
  for (const { token } of tokens.slice(0, 2)) await identity.authenticate(`token ${token}`, here);
  clock.pass(1000);
  for (const { token } of tokens.slice(1, 2)) await identity.authenticate(`token ${token}`, here);
  const uses = [[clock.wall() - 1000], [clock.wall()], [null]];
  t.strictSame(lastUses(identity), uses);
  t.equal(transact().length, 0, 'no request makes a write');
  const closed = identity.close();
  t.strictSame(lastUses(identity), uses, 'also while it is being written');
  await closed;
  t.equal(transact().length, 1);
  const again = await opened.open();
  t.strictSame(lastUses(new Identity({ documents: again.documents, now: () => 0, log: silentLog })), uses);
});

t.test('the last use is written now and then, and tried again where it could not be', async t => {
  const { clock, ledger, identity, warned } = await world(t, { usesEveryMs: 1 });
  const { token, document } = await make(ledger, 'alice');
  const transact = t.capture(ledger.documents, 'transact', () => Promise.reject(new Error('away')));
  await identity.authenticate(`token ${token}`, here);
  await until(() => (warned.length > 1 ? true : null));
  t.match(identity.tokensOf(document.owner), [{ lastUsedAt: clock.wall() }]);
  transact.restore();
  const kept = await until(
    () =>
      [...ledger.documents.volatileRecords()].find(({ text }) => text.includes(`${clock.wall()}`)) ?? null,
  );
  t.equal(kept.kind, 'use');
});

t.test('a token that is revoked before its use is written stays revoked', async t => {
  const { ledger, identity } = await world(t);
  const { token } = await make(ledger, 'alice');
  await identity.authenticate(`token ${token}`, here);
  await ledger.documents.transact(transaction =>
    revokeToken(transaction.changes, transaction.mustBeOwner('alice'), 'ci'),
  );
  await identity.close();
  t.match(await identity.authenticate(`token ${token}`, here), { is: 'refused' });
});

t.test('what a token makes does not outlive it', async t => {
  const { clock, ledger, identity } = await world(t);
  const until = clock.wall() + 1000;
  const { token } = await make(ledger, 'alice', { expiresAt: until });
  const answer = await identity.authenticate(`token ${token}`, here);
  if (answer.is !== 'caller') throw new Error(answer.is);
  const by = { maker: answer.caller, now: clock.wall() };
  const makeAnother = (name: string, expiresAt: number | null) =>
    ledger.documents.transact(transaction => {
      const owner = transaction.mustBeOwner('alice');
      createToken(transaction.changes, owner, { name, scopes: ['all'], expiresAt }, by);
    });
  await t.rejects(makeAnother('longer', until + 1), { code: 'not_permitted', message: /^expires_at: / });
  await t.rejects(makeAnother('endless', null), { code: 'not_permitted' });
  await t.resolves(makeAnother('as long', until));
});
