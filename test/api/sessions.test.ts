/** Signing in from a browser: the cookie, where requests may come from, and who sees whose sessions. */

import t from 'tap';
import { signInLink } from '../../src/wire/index.ts';
import { cookieOf, ourPage, signedIn } from './browser.ts';
import { endSessions, messageOf, sessionsOf } from './people.ts';
import { type Asked, type Settings, World } from './world.ts';

const nobody = { as: 'nobody' } as const;

const world = await World.open(t);

async function setCookie(t: Parameters<typeof World.open>[0], settings: Settings): Promise<string> {
  const world = await World.open(t, { settings });
  const body = { token: await world.newToken('alice', ['all']) };
  const { headers } = await world.must(201, 'POST', '/session', {
    ...nobody,
    headers: ourOrigin(world),
    body,
  });
  return (headers['set-cookie'] ?? []).join('\n').replace(/=[^;]+/, '=…');
}

/** Wherever it seems to be, a browser that is told by Sec-Fetch-Site needs no other word. */
function ourOrigin(world: World) {
  return { ...ourPage(world), 'Sec-Fetch-Site': 'same-origin' };
}

t.test('the cookie is for no script, for no other site, and at https for nobody but this host', async t => {
  const month = 2_592_000;
  t.equal(await setCookie(t, {}), `softquota-session=…; Max-Age=${month}; Path=/; HttpOnly; SameSite=Lax`);
  t.equal(
    await setCookie(t, { server: { ROOT_URL: 'https://git.example/' } }),
    `__Host-softquota=…; Max-Age=${month}; Path=/; HttpOnly; SameSite=Lax; Secure`,
  );
  t.equal(
    await setCookie(t, { server: { ROOT_URL: 'https://git.example/quota/' } }),
    `softquota-session=…; Max-Age=${month}; Path=/quota/; HttpOnly; SameSite=Lax; Secure`,
  );
});

t.test('signing in by a token tells who one is, and every route works with the session', async t => {
  const body = { token: await world.newToken('alice', ['write:user']) };
  const answer = await world.must(201, 'POST', '/session', { ...nobody, headers: ourPage(world), body });
  t.match(answer.json, {
    login: 'alice',
    full_name: '',
    is_admin: false,
    organizations: ['acme'],
    scopes: ['write:user'],
    via: 'token',
    sign_out_href: null,
    host: /./,
    store_away_since: null,
    shares: false,
    version: /^\d/,
  });
  const headers = { ...ourPage(world), Cookie: cookieOf(answer) };
  t.match(await world.get('/session', { ...nobody, headers }), { login: 'alice' });
  await world.get('/user/quota', { ...nobody, headers });
  await world.must(403, 'GET', '/orgs/acme/quota', { ...nobody, headers });
  const made = { name: 'from a page', scopes: ['read:user'] };
  await world.post('/users/alice/tokens', made, { ...nobody, headers });
  const more = { ...made, name: 'more', scopes: ['all'] };
  await world.must(403, 'POST', '/users/alice/tokens', { ...nobody, headers, body: more });
  t.match(
    await world.get('/session', { as: 'admin1' }),
    { login: 'admin1', is_admin: true, via: 'token', expires_at: null },
    'a token tells as well',
  );
});

t.test('a token that is sent counts before the cookie', async t => {
  const headers = await signedIn(world, 'alice');
  t.match(await world.get('/session', { as: 'bob', headers }), { login: 'bob' });
  await world.must(401, 'GET', '/session', { token: 'wrong', headers });
  await world.must(404, 'DELETE', '/session', { as: 'bob', headers });
  await world.get('/session', { ...nobody, headers });
});

t.test('signing out ends the session, and has the browser forget it', async t => {
  const headers = await signedIn(world, 'alice');
  const other = await signedIn(world, 'alice');
  const gone = await world.must(204, 'DELETE', '/session', { ...nobody, headers });
  t.strictSame(gone.headers['set-cookie'], ['softquota-session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax']);
  const refused = await world.must(401, 'GET', '/session', { ...nobody, headers });
  t.equal(messageOf(refused), 'the session has ended: sign in again');
  t.equal(refused.headers['set-cookie'], undefined, 'another page may have signed in just now');
  await world.get('/session', { ...nobody, headers: other });
});

t.test('no refusal has a browser open a window of its own', async t => {
  const body = { token: 'wrong' };
  const answers = [
    await world.must(401, 'GET', '/session', nobody),
    await world.must(401, 'GET', '/admin/users', { ...nobody, headers: { Cookie: 'softquota-session=x' } }),
    await world.must(401, 'POST', '/session', { ...nobody, headers: ourPage(world), body }),
  ];
  for (const { headers } of answers) t.notMatch(headers['www-authenticate'] ?? '', /basic|digest|negotiate/i);
});

t.test('what changes something is taken from a page of this origin alone', async t => {
  const { Cookie = '' } = await signedIn(world, 'admin1');
  const { origin, host } = world.url;
  const name = () => `from-${Math.random()}`;
  const from = (headers: Readonly<Record<string, string>>) =>
    world.call('POST', '/admin/users', {
      ...nobody,
      headers: { Cookie, ...headers },
      body: { username: name() },
    });
  const site = (value: string) => ({ 'Sec-Fetch-Site': value });
  const taken = [{ Origin: origin }, site('same-origin'), { Origin: 'null', ...site('same-origin') }];
  for (const headers of taken) t.match(await from(headers), { status: 201 }, JSON.stringify(headers));
  const refused = [
    {},
    { Origin: 'null' },
    { Origin: 'http://evil.example' },
    { Origin: `https://${host}` },
    { Origin: `${origin}.evil.example` },
    { Origin: `${origin}/` },
    { Referer: `${origin}/owners` },
    { Origin: origin, ...site('cross-site') },
    { Origin: origin, ...site('same-site') },
    { Origin: origin, ...site('none') },
    { Origin: 'http://evil.example', 'X-Forwarded-Host': 'evil.example' },
  ];
  for (const headers of refused) {
    t.match(
      await from(headers),
      { status: 403, json: { message: /from a page of softquota/ } },
      JSON.stringify(headers),
    );
  }
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    await world.must(403, method, '/admin/users/bob', {
      ...nobody,
      headers: { Cookie, Origin: 'http://evil.example' },
    });
  }
  await world.get('/admin/users/bob', { ...nobody, headers: { Cookie } });
  await world.post('/admin/users', { username: 'by-token' }, { headers: site('cross-site') });
});

t.test('at https the page has to be that of ROOT_URL, whatever host is asked', async t => {
  const world = await World.open(t, { settings: { server: { ROOT_URL: 'https://git.example/' } } });
  const body = { token: await world.newToken('alice', ['all']) };
  const attempt = async (Origin: string) =>
    (await world.call('POST', '/session', { ...nobody, headers: { Origin }, body })).status;
  t.equal(await attempt('https://git.example'), 201);
  t.equal(await attempt('http://git.example'), 403);
  t.equal(await attempt(world.url.origin), 403);
});

t.test('nobody is signed in from another site, or by a form', async t => {
  const token = await world.newToken('bob', ['all']);
  const headers = ourPage(world);
  await world.must(403, 'POST', '/session', { ...nobody, headers: {}, body: { token } });
  await world.must(403, 'POST', '/session', {
    ...nobody,
    headers: { Origin: 'http://evil.example' },
    body: { token },
  });
  const form = { rawBody: `token=${token}`, contentType: 'application/x-www-form-urlencoded' };
  await world.must(422, 'POST', '/session', { ...nobody, headers, ...form });
  const text = { rawBody: JSON.stringify({ token }), contentType: 'text/plain' };
  await world.must(422, 'POST', '/session', { ...nobody, headers, ...text });
  for (const body of [{}, { token, code: 'x' }, { token: 1 }, []]) {
    await world.must(422, 'POST', '/session', { ...nobody, headers, body });
  }
  await world.must(404, 'POST', '/session', { as: 'host', headers, body: { token } });
  await world.must(404, 'GET', '/session', { as: 'host' });
  t.equal((await sessionsOf(world, 'bob')).length, 0);
});

t.test('a user and administrators see and end sessions; the current one is marked', async t => {
  await endSessions(world, 'alice');
  const headers = await signedIn(world, 'alice');
  const other = await signedIn(world, 'alice');
  const rows = await sessionsOf(world, 'ALICE', { ...nobody, headers });
  t.match(rows, [
    { via: 'token', current: true },
    { via: 'token', current: false },
  ]);
  t.strictSame(
    (await sessionsOf(world, 'alice')).map(({ current }) => current),
    [false, false],
  );
  for (const name of ['alice', 'missing']) {
    const path = `/users/${name}/sessions`;
    t.match(await world.must(403, 'GET', path, { as: 'bob' }), {
      json: { message: /only administrators may do this/ },
    });
    await world.must(403, 'DELETE', `${path}/${rows[0]?.id}`, { as: 'bob' });
  }
  await world.must(404, 'GET', '/users/missing/sessions');
  await world.must(404, 'DELETE', `/users/bob/sessions/${rows[1]?.id}`);
  await world.remove(`/users/alice/sessions/${rows[1]?.id}`, { ...nobody, headers });
  await world.must(401, 'GET', '/session', { ...nobody, headers: other });
  await world.remove(`/users/alice/sessions/${rows[0]?.id}`);
  await world.must(401, 'GET', '/session', { ...nobody, headers });
});

t.test('no secret of a session or a link is ever logged', async t => {
  const { Cookie = '' } = await signedIn(world, 'alice');
  const { url } = signInLink.parse(await world.post('/users/bob/sign-in-link'));
  await world.get('/session', { ...nobody, headers: { Cookie } });
  const secrets = [...Cookie.replace(/^[^=]*=/, '').split('.'), url.replace(/^.*=/, '')];
  await world.must(403, 'POST', '/session', { ...nobody, headers: { Cookie }, body: { code: secrets[2] } });
  for (const secret of secrets) t.notOk(world.log.join('').includes(secret));
});

t.test('a link signs in once, and gives no more than its maker has', async t => {
  const make = async (asked: Asked = {}) =>
    signInLink.parse((await world.must(201, 'POST', '/users/bob/sign-in-link', asked)).json);
  const link = await make();
  const [address, code] = link.url.split('#code=');
  t.equal(address, `${world.url}sign-in`);
  const headers = ourPage(world);
  const asked = { ...nobody, headers, body: { code } };
  const answer = await world.must(201, 'POST', '/session', asked);
  t.match(answer.json, { login: 'bob', via: 'link', scopes: ['all'] });
  t.match(await world.must(401, 'POST', '/session', asked), {
    json: { message: /link is invalid, expired or already used/ },
  });
  await world.must(401, 'POST', '/session', { ...nobody, headers, body: { code: 'wrong' } });

  const lesser = await make({ token: await world.newToken('admin1', ['write:admin']) });
  const [, second] = lesser.url.split('#code=');
  const json = await world.post('/session', { code: second }, { ...nobody, headers });
  t.match(json, { scopes: ['write:admin'] });
  await world.must(403, 'POST', '/users/bob/sign-in-link', { as: 'bob' });
  await world.must(404, 'POST', '/users/missing/sign-in-link');
  const unused = (await make({ as: 'host' })).url.split('#code=')[1];
  await world.restart();
  const late = { ...nobody, headers: ourPage(world), body: { code: unused } };
  await world.must(401, 'POST', '/session', late);
});
