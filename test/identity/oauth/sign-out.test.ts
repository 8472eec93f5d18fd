/** Signing out here and at the provider. */

import t from 'tap';
import { z } from 'zod';
import { SoftquotaError } from '../../../src/errors.ts';
import { SignInFlow, secretKeysOf } from '../../../src/identity/index.ts';
import { sourceKind } from '../../../src/identity/kinds.ts';
import { savedSource } from '../../../src/wire/index.ts';
import type { Browser } from './browser.ts';
import { hostileProvider } from './hostile-provider.ts';
import { realProvider } from './provider.ts';
import { SignInWorld } from './world.ts';

const atProvider = { sign_out_at_provider: true };
const session = z.object({ sign_out_href: z.string().nullable() });

/** The place where this browser would sign out; null: nowhere but here. */
async function hrefOf({ world }: SignInWorld, browser: Browser): Promise<string | null> {
  const { body } = await browser.get(new URL('api/v1/session', world.url));
  return session.parse(JSON.parse(body)).sign_out_href;
}

async function loginOf(signIns: SignInWorld, browser: Browser): Promise<string | null> {
  return (await signIns.signed(browser, signIns.world.url)).login;
}

t.test('who signs out is signed out here, and asked at the provider to sign out there', async t => {
  const provider = await realProvider(t);
  provider.someone = { subject: 'sub-dave', claims: { preferred_username: 'dave' } };
  const signIns = await SignInWorld.open(t, provider, atProvider);
  const { world } = signIns;
  const { browser } = await signIns.signIn();
  const href = await hrefOf(signIns, browser);
  t.match(href, new RegExp(`^sign-in/oauth2/${signIns.id}/sign-out\\?session=\\d+$`));

  const held = browser.cookies(world.url.origin).get('softquota-session');
  const left = await browser.get(new URL(href ?? '', world.url));
  t.equal(left.status, 303);
  const there = new URL(left.headers.get('location') ?? '');
  t.equal(there.origin, provider.issuer);
  t.strictSame(Object.fromEntries(there.searchParams), {
    client_id: provider.client.id,
    post_logout_redirect_uri: `${world.url}sign-in`,
  });
  t.same([...browser.cookies(world.url.origin).keys()], [], 'the browser holds nothing any more');
  if (held !== undefined) browser.set(world.url.origin, 'softquota-session', held);
  t.equal(await loginOf(signIns, browser), null, 'and what it held is no longer good');
  t.match(await browser.get(there), { status: 200, body: /sign-out from/i }, 'the provider asks');
  t.same(signIns.faults, []);
});

t.test('a link of another site signs nobody out', async t => {
  const provider = await hostileProvider(t);
  provider.lies = { discovery: { end_session_endpoint: `${provider.issuer}/end` } };
  const signIns = await SignInWorld.open(t, provider, atProvider);
  const { browser } = await signIns.signIn();
  const { browser: other } = await signIns.signIn();
  const own = new URL((await hrefOf(signIns, browser)) ?? '', signIns.world.url);
  const others = new URL((await hrefOf(signIns, other)) ?? '', signIns.world.url);
  const elsewhere = new URL(own.href.replace(`${signIns.id}`, '7'));
  for (const url of [new URL(own.pathname, own), new URL('?session=', own), others, elsewhere]) {
    const { status, headers } = await browser.get(url);
    t.match({ status, location: headers.get('location') }, { status: 303, location: /\/sign-in$/ }, url.href);
    t.equal(await loginOf(signIns, browser), 'mallory', url.href);
  }
  const { headers } = await browser.get(own);
  t.match(headers.get('location'), /\/end\?/);
  t.equal(await loginOf(signIns, browser), null);
  t.equal(await loginOf(signIns, other), 'mallory', 'the other browser stays as it is');
});

t.test('there is such a place for sign-ins by a source that says so, and for no others', async t => {
  const provider = await realProvider(t);
  provider.someone = { subject: 'sub-dave', claims: { preferred_username: 'dave' } };
  const signIns = await SignInWorld.open(t, provider);
  const { browser } = await signIns.signIn();
  t.equal(await hrefOf(signIns, browser), null, 'it is off unless said');
  await signIns.edit(atProvider);
  t.match(await hrefOf(signIns, browser), /sign-out/, 'from then on, for those who signed in before as well');
  const byToken = await signIns.world.must(200, 'GET', '/session', { as: 'alice' });
  t.equal(session.parse(byToken.json).sign_out_href, null);
});

for (const [what, discovery] of Object.entries({
  none: {},
  'one in the clear': { end_session_endpoint: 'http://login.example/end' },
  'one that is no address': { end_session_endpoint: 'javascript:alert(1)' },
  'one that is no text': { end_session_endpoint: 7 },
})) {
  t.test(`a provider whose end_session_endpoint is ${what} leaves it at signing out here`, async t => {
    const provider = await hostileProvider(t);
    provider.lies = { discovery };
    const signIns = await SignInWorld.open(t, provider);
    const { world } = signIns;
    const path = `/admin/auths/${signIns.id}`;
    const { warning } = savedSource.parse(await world.patch(path, atProvider));
    t.match(warning, /^a sign-out ends only the session on this server: .*end_session_endpoint/);
    t.match(world.log.join(''), 'signing out cannot end sessions at a provider');

    const { browser } = await signIns.signIn();
    t.equal(await loginOf(signIns, browser), 'mallory', 'nobody is kept from signing in');
    const own = new URL((await hrefOf(signIns, browser)) ?? '', world.url);
    const { headers } = await browser.get(own);
    t.equal(headers.get('location'), `${world.url}sign-in?fault=still_signed_in_there`);
    t.equal(await loginOf(signIns, browser), null);
    t.match(world.log.join(''), 'a sign-out at a provider came to nothing');
  });
}

t.test('while nothing can be kept, nobody is said to be signed out', async t => {
  const flow = new SignInFlow({
    documents: {
      get snapshot(): never {
        throw new Error('it is not looked at');
      },
      transact: () => Promise.reject(new SoftquotaError('store_away', 'the disk is full')),
    },
    keys: secretKeysOf(['k'.repeat(40)]),
    log: { warn: () => {} },
    baseUrl: () => 'https://git.example/',
    now: Date.now,
  });
  const document = {
    id: 5,
    owner: 1,
    via: { is: 'source', source: 7, issuer: 'https://login.example', subject: 'x' },
    scopes: ['all'],
    endsAt: null,
    createdAt: 0,
    secret: '',
    previousSecret: null,
    rotatedAt: 0,
    isUsed: true,
    stolenAt: null,
  } as const;
  const by = { ownerId: 1, name: 'dave', tokenId: null };
  t.equal(await flow.endHere(document, '7', '6', by), false);
  await t.rejects(flow.endHere(document, '7', '5', by), { code: 'still_signed_in' });
});

t.test('a source from before there was such a setting signs out here alone', t => {
  const before = {
    id: 7,
    name: 'company',
    discoveryUrl: 'https://login.example',
    clientId: 'softquota',
    clientSecret: null,
    clientSecretAt: null,
    scopes: ['openid'],
    usernameClaim: 'preferred_username',
    trustUsernames: false,
    adminClaim: null,
    adminGroup: null,
    groupClaim: null,
    mapping: [],
    removal: false,
    missingClaim: 'remove',
    isActive: true,
    createdAt: 0,
  };
  t.strictSame(sourceKind.schema.parse(before), { ...before, signOutAtProvider: false });
  t.end();
});
