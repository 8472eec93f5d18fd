/** Attacks that must not sign anybody in, each against a provider that lies, or a browser that was misled. */

import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { savedSource } from '../../../src/wire/index.ts';
import { until } from '../../e2e/ask.ts';
import { Browser } from './browser.ts';
import { type HostileProvider, hostileProvider, type Lies } from './hostile-provider.ts';
import { realProvider } from './provider.ts';
import { addSource, isBack, SignInWorld } from './world.ts';

async function open(t: Test): Promise<{ provider: HostileProvider; signIns: SignInWorld }> {
  const provider = await hostileProvider(t);
  return { provider, signIns: await SignInWorld.open(t, provider) };
}

/** Nobody is signed in, nobody is created, and what the browser reads has nothing of what was sent. */
async function comesToNothing(
  t: Test,
  signIns: SignInWorld,
  fault: string,
  browser = new Browser(),
): Promise<void> {
  const { login, at } = await signIns.signIn(browser);
  t.equal(login, null);
  t.equal(`${at.pathname}${at.search}`, `/sign-in?fault=${fault}`);
  await signIns.world.must(404, 'GET', '/admin/users/mallory');
  t.notOk(browser.cookies(signIns.world.url.origin).has('softquota-session'));
}

const now = () => Math.floor(Date.now() / 1000);

t.test('a provider that does not lie signs in', async t => {
  const { provider, signIns } = await open(t);
  t.equal((await signIns.signIn()).login, 'mallory');
  const [asked] = provider.asked;
  const [exchanged] = provider.exchanged;
  t.equal(asked?.get('code_challenge_method'), 'S256');
  t.equal(asked?.get('redirect_uri'), `${signIns.begin}/callback`);
  t.equal(exchanged?.get('redirect_uri'), `${signIns.begin}/callback`);
  t.match(exchanged?.get('code_verifier'), /^[\w-]{43,}$/);
});

t.test('keys that the provider rotated since the last sign-in are taken at once', async t => {
  const { provider, signIns } = await open(t);
  for (let time = 0; time < 3; time += 1) {
    t.equal((await signIns.signIn()).login, 'mallory', `${time} times rotated`);
    await provider.rotateKeys();
  }
  t.equal(provider.exchanged.length, 3, 'each code is redeemed once');
  provider.lies = { signature: 'other' };
  t.match(await signIns.signIn(), { login: null, at: { search: '?fault=not_believed' } });
});

t.test('an ID token that is not what it should be is not believed', async t => {
  const { provider, signIns } = await open(t);
  const lies: readonly (readonly [string, Lies])[] = [
    ['another nonce', { claims: { nonce: 'another' } }],
    ['no nonce', { claims: { nonce: undefined } }],
    ['another issuer', { claims: { iss: 'https://evil.example' } }],
    ['another audience', { claims: { aud: 'another' } }],
    [
      'several audiences, and for another party',
      { claims: { aud: ['softquota', 'another'], azp: 'another' } },
    ],
    ['expired', { claims: { iat: now() - 7200, exp: now() - 3600 } }],
    ['no end', { claims: { exp: undefined } }],
    ['no subject', { claims: { sub: undefined } }],
    ['algorithm none', { signature: 'none' }],
    ['HS256 with the public key', { signature: 'public' }],
    ['a key that is not published', { signature: 'other' }],
    ['userinfo of another', { userinfo: { sub: 'sub-root', preferred_username: 'root' } }],
  ];
  for (const [name, lie] of lies) {
    await t.test(name, async t => {
      provider.lies = lie;
      await comesToNothing(t, signIns, 'not_believed');
      t.equal(signIns.faults.at(-1)?.fault, 'not_believed');
    });
  }
  t.same(await signIns.events(), []);
});

t.test('an answer of the provider that is not for this very sign-in is not taken', async t => {
  const { provider, signIns } = await open(t);
  const lies: readonly (readonly [string, Lies, string])[] = [
    ['another state', { back: { state: 'another' } }, 'not_started_here'],
    ['no state', { back: { state: null } }, 'not_started_here'],
    ['of another issuer', { back: { iss: 'https://evil.example' } }, 'not_believed'],
    ['of no issuer, though it says that it tells it', { back: { iss: null } }, 'not_believed'],
    ['without a code', { back: { code: null } }, 'not_believed'],
    [
      'an error with a script',
      { back: { code: null, error: '<script>', error_description: '<script>' } },
      'provider_refused',
    ],
  ];
  for (const [name, lie, fault] of lies) {
    await t.test(name, async t => {
      provider.lies = lie;
      await comesToNothing(t, signIns, fault);
    });
  }
  t.same(provider.exchanged, [], 'nobody asks what a code is worth that came that way');
});

t.test('a browser finishes only what it began, and once', async t => {
  const { provider, signIns } = await open(t);
  const mallory = new Browser();
  const back = await mallory.go(signIns.begin, isBack);
  const victim = await signIns.signed(new Browser(), back);
  const misled = await signIns.arrive(victim.browser, back);
  t.equal(misled.search, '?fault=not_started_here', 'a link with the code of another one signs nobody in');
  t.same(provider.exchanged, []);

  const origin = signIns.world.url.origin;
  const held = [...mallory.cookies(origin)];
  t.equal((await signIns.arrive(mallory, back)).pathname, '/');
  for (const [name, cookie] of held) mallory.set(origin, name, cookie);
  const again = await signIns.arrive(mallory, back);
  t.equal(
    again.search,
    '?fault=not_started_here',
    'a code is not taken twice, even by the browser that kept all',
  );
  t.equal(provider.exchanged.length, 1);

  const forger = new Browser();
  const next = await forger.go(signIns.begin, isBack);
  for (const [name, cookie] of forger.cookies(origin)) {
    forger.set(origin, name, { ...cookie, value: `${cookie.value.slice(0, -4)}AAAA` });
  }
  t.equal((await signIns.arrive(forger, next)).search, '?fault=not_started_here');
});

t.test('what was begun with one provider is not finished with another', async t => {
  // Neither tells its issuer when it sends a browser back (RFC 9207), which alone would show it.
  const lies: Lies = {
    discovery: { authorization_response_iss_parameter_supported: false },
    back: { iss: null },
  };
  const [evil, honest] = [await hostileProvider(t), await hostileProvider(t)];
  for (const each of [evil, honest]) each.lies = lies;
  const signIns = await SignInWorld.open(t, evil);
  const id = await addSource(signIns.world, honest, { name: 'honest' });
  const browser = new Browser();
  const back = await browser.go(new URL(`sign-in/oauth2/${id}`, signIns.world.url), isBack);
  // The honest provider's code is taken to the other source, which would send it to its own token endpoint.
  back.pathname = `/sign-in/oauth2/${signIns.id}/callback`;
  t.equal((await signIns.arrive(browser, back)).search, '?fault=not_believed');
  t.same(evil.exchanged, [], 'the code of the one never gets to the other');
});

t.test('a user whom the provider before knew is not linked at the one that a source has now', async t => {
  const { provider, signIns } = await open(t);
  const answering = Promise.withResolvers<void>();
  t.teardown(() => answering.resolve());
  provider.lies = { waits: answering.promise };
  const signingIn = comesToNothing(t, signIns, 'not_believed');
  await until(async () => provider.exchanged.length === 1 || null);
  const { issuer, client } = await hostileProvider(t);
  await signIns.edit({ openid_connect_auto_discovery_url: issuer, client_secret: client.secret });
  answering.resolve();
  await signingIn;
});

t.test('PKCE is used whatever a provider says of it, and each time with another secret', async t => {
  const { provider, signIns } = await open(t);
  await signIns.edit({ is_active: false });
  const plain = await hostileProvider(t);
  plain.lies = { discovery: { code_challenge_methods_supported: ['plain'] } };
  const id = await addSource(signIns.world, plain, { name: 'plain' });
  for (let time = 0; time < 2; time += 1) {
    await signIns.arrive(new Browser(), new URL(`sign-in/oauth2/${id}`, signIns.world.url));
  }
  const challenges = plain.asked.map(asked => asked.get('code_challenge'));
  t.equal(new Set(challenges).size, 2);
  t.same(
    plain.asked.map(asked => asked.get('code_challenge_method')),
    ['S256', 'S256'],
  );
  t.same(provider.asked, []);
});

t.test('a code of a request without PKCE, taken out on the way, is good for nothing', async t => {
  const provider = await realProvider(t, 'not offered');
  const signIns = await SignInWorld.open(t, provider);
  provider.someone = { subject: 'sub-mallory', claims: { preferred_username: 'mallory' } };
  const changes: readonly (readonly [string, (asked: URLSearchParams) => void])[] = [
    [
      'without a challenge',
      asked => {
        asked.delete('code_challenge');
        asked.delete('code_challenge_method');
      },
    ],
    ['with a challenge of another', asked => asked.set('code_challenge', 'c'.repeat(43))],
  ];
  for (const [name, change] of changes) {
    await t.test(name, async t => {
      const browser = new Browser();
      const asked = await browser.go(signIns.begin, url => url.origin === provider.issuer);
      change(asked.searchParams);
      const back = await browser.go(asked, isBack);
      t.ok(back.searchParams.has('code'), 'the provider falls for it');
      const at = await signIns.arrive(browser, back);
      t.equal(at.search, '?fault=not_believed');
      t.equal((await signIns.signed(browser, at)).login, null);
      t.match(signIns.faults.at(-1)?.reason, /refuses the code: "invalid_grant"/);
    });
  }
  await signIns.world.must(404, 'GET', '/admin/users/mallory');
});

t.test('nothing that signs anybody in is in the log, in an answer, or on disk', async t => {
  const { provider, signIns } = await open(t);
  const { world } = signIns;
  const browser = new Browser();
  const begun = await browser.go(signIns.begin, url => url.origin === provider.issuer);
  const cookies = () => [...browser.cookies(world.url.origin).values()].map(({ value }) => value);
  const held = cookies();
  await signIns.arrive(browser, begun);
  held.push(...cookies().flatMap(value => [value, ...value.split('.')]));
  const lies: readonly (readonly [Lies, string])[] = [
    [{ garbled: true }, 'not_believed'],
    [{ signature: 'none' }, 'not_believed'],
    [{ back: { code: null, error: 'access_denied' } }, 'provider_refused'],
    [{ back: { state: 'x' } }, 'not_started_here'],
  ];
  for (const [lie, fault] of lies) {
    provider.lies = lie;
    t.match(await signIns.signIn(), { login: null, at: { search: `?fault=${fault}` } });
  }
  const secrets = [
    provider.client.secret,
    ...held,
    ...provider.given,
    ...[...provider.exchanged, ...provider.asked].flatMap(sent =>
      ['code', 'code_verifier', 'state', 'nonce'].flatMap(name => sent.get(name) ?? []),
    ),
  ];
  t.ok(secrets.length > 20 && secrets.every(secret => secret.length >= 20));
  const paths = ['/admin/auths', '/admin/quota/events', '/admin/backup', '/users/mallory/sessions'];
  const answers = await Promise.all(paths.map(path => world.must(200, 'GET', path)));
  await world.close();
  const data = join(world.directory, 'data');
  const files = readdirSync(data, { withFileTypes: true, recursive: true }).filter(file => file.isFile());
  t.ok(files.some(({ name }) => name === 'softquota.db'));
  const places = [
    ...world.log,
    ...answers.map(({ text }) => text),
    ...files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1')),
  ];
  for (const secret of secrets)
    t.notOk(
      places.some(text => text.includes(secret)),
      secret,
    );
  t.notOk(
    signIns.faults.some(({ reason }) => reason.includes('access-')),
    'nor a piece of an answer that could not be read',
  );
});

const unusable =
  'at the moment nobody can sign in with this source: the provider cannot be used with these settings; the log of the daemon has the reason';

t.test('a provider that cannot be what it says, or sends people astray, is not gone to', async t => {
  const { signIns } = await open(t);
  const refused: readonly (readonly [Lies['discovery'], RegExp])[] = [
    [{ issuer: 'https://login.example' }, /calls itself https:\/\/login\.example/],
    [
      { id_token_signing_alg_values_supported: ['none', 'HS256'] },
      /signs ID tokens with no accepted algorithm/,
    ],
    [{ jwks_uri: undefined }, /has no usable jwks_uri/],
    [{ token_endpoint: 7, userinfo_endpoint: 'x' }, /has no usable/],
    [{ id_token_signing_alg_values_supported: 7 }, /has no usable id_token_signing_alg/],
    [
      { authorization_endpoint: 'http://evil.example/authorize' },
      /address at http:\/\/evil\.example without encryption/,
    ],
    [{ token_endpoint: 'javascript:alert(1)' }, /without encryption/],
    [
      { pushed_authorization_request_endpoint: 'http://evil.example/par' },
      /address at http:\/\/evil\.example/,
    ],
    [{ require_pushed_authorization_requests: true }, /has no pushed_authorization_request_endpoint/],
  ];
  for (const [discovery = {}, reason] of refused) {
    const provider = await hostileProvider(t);
    provider.lies = { discovery };
    const made = await signIns.world.must(201, 'POST', '/admin/auths', {
      body: { name: 'other', openid_connect_auto_discovery_url: provider.issuer, client_id: 'x' },
    });
    const { id, warning: told } = savedSource.parse(made.json);
    t.equal(told, unusable);
    t.match(signIns.troubles.at(-1), reason);
    const begin = new URL(`sign-in/oauth2/${id}`, signIns.world.url);
    t.equal((await signIns.arrive(new Browser(), begin)).search, '?fault=misconfigured');
    t.same(provider.asked, []);
    await signIns.world.remove(`/admin/auths/${id}`);
  }
});

t.test('what lies at the address of a source is not told, whatever it is', async t => {
  const { signIns } = await open(t);
  const page = await hostileProvider(t);
  page.lies = { discovery: { issuer: 'https://login.example' } };
  const other = createServer(socket => socket.end('SSH-2.0-OpenSSH_9\r\n'));
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.teardown(() => other.close());
  const { port } = other.address() as AddressInfo; // it listens on an address
  for (const issuer of ['http://127.0.0.1:2', page.issuer, `http://127.0.0.1:${port}/`]) {
    const made = await signIns.world.must(201, 'POST', '/admin/auths', {
      body: { name: issuer, openid_connect_auto_discovery_url: issuer, client_id: 'x' },
    });
    t.equal(savedSource.parse(made.json).warning, unusable);
  }
  t.equal(new Set(signIns.troubles.slice(-3)).size, 3, 'the log tells them apart');
});

t.test('an answer that never ends is given up', async t => {
  const { provider, signIns } = await open(t);
  provider.lies = { endless: true };
  await comesToNothing(t, signIns, 'not_believed');
  t.match(signIns.faults.at(-1)?.reason, /more than \d+ bytes/);
});

t.test('only so many sign-ins wait for a provider at the same time', async t => {
  const { provider, signIns } = await open(t);
  const answering = Promise.withResolvers<void>();
  t.teardown(() => answering.resolve());
  provider.lies = { waits: answering.promise };
  const browsers = Array.from({ length: 32 }, () => new Browser());
  const waiting = browsers.map(browser => signIns.signIn(browser));
  await until(async () => provider.exchanged.length === browsers.length || null);
  await comesToNothing(t, signIns, 'not_now');
  t.equal(provider.exchanged.length, browsers.length);
  answering.resolve();
  t.same(new Set((await Promise.all(waiting)).map(({ login }) => login)), new Set(['mallory']));
});

t.test('names and claims that are special to programs are names and claims like any other', async t => {
  const { provider, signIns } = await open(t);
  provider.lies = {
    claims: { preferred_username: '__proto__', groups: ['__proto__', 'constructor', 'staff'] },
    userinfo: JSON.parse('{"sub":"sub-mallory","__proto__":{"groups":["guests"]},"constructor":"x"}'),
  };
  const { login } = await signIns.signIn();
  t.equal(login, '__proto__');
  t.match(await signIns.events(), [{ owner: '__proto__', added: ['gold'], removed: [] }]);
});
