/** Links that sign in: once, and not for long. */

import t from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import { deleteUser, type SignIn } from '../../src/identity/index.ts';

import { nameIn, tokenOf, world } from './session-world.ts';

const here = '192.0.2.7';
const dayMs = 86_400_000;
const tenMinutesMs = 600_000;

t.test('a link signs in once, for ten minutes, as far as its maker may', async t => {
  const { clock, ledger, identity, signIn } = await world(t);
  await tokenOf(ledger, 'alice');
  const ownerId = ledger.documents.owners.named('alice')?.id ?? 0;
  const endsAt = clock.wall() + dayMs;
  const make = () => identity.makeSignInLink({ ownerId, scopes: ['read:user'], endsAt });
  const { code, until } = make();
  t.equal(until, clock.wall() + tenMinutesMs);
  t.match(code, /^[\w-]{43}$/);
  const { value, document } = await signIn({ code });
  t.match(document, { owner: ownerId, via: { is: 'link' }, scopes: ['read:user'], endsAt });
  t.match(await identity.authenticateSession(value), { caller: { name: 'alice', expiresAt: endsAt } });
  await t.rejects(signIn({ code }), /refused/);
  const late = make();
  clock.pass(tenMinutesMs);
  await t.rejects(signIn({ code: late.code }), /refused/);
  const outlived = make();
  await ledger.documents.transact(transaction => deleteUser(transaction, 'alice'));
  await t.rejects(signIn({ code: outlived.code }), /refused/);
});

t.test('a link that could not sign in because the store was away does so once it is back', async t => {
  const { ledger, identity, signIn } = await world(t);
  await tokenOf(ledger, 'alice');
  const ownerId = ledger.documents.owners.named('alice')?.id ?? 0;
  const { code } = identity.makeSignInLink({ ownerId, scopes: ['all'], endsAt: null });
  const away = () => Promise.reject(new SoftquotaError('store_away', 'no room'));
  const transact = t.capture(ledger.documents, 'transact', away);
  await t.rejects(signIn({ code }), { code: 'store_away' });
  transact.restore();
  await t.resolves(signIn({ code }));
  await t.rejects(signIn({ code }), /refused/);
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

t.test('wrong tokens and links count against the address, what a browser holds does not', async t => {
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
});
