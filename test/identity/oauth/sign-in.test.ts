/** Effects of a sign-in at a real provider on users, groups, administration and sessions. */

import t, { type Test } from 'tap';
import { groupsOf, messageOf, userOf } from '../../api/people.ts';
import { freePort } from '../../e2e/transports.ts';
import { Browser } from './browser.ts';
import { realProvider, type Someone } from './provider.ts';
import { isBack, type Signed, SignInWorld } from './world.ts';

/** With a source that has these fields. */
async function open(t: Test, fields: object = {}) {
  const provider = await realProvider(t);
  const signIns = await SignInWorld.open(t, provider, fields);
  return { provider, signIns, world: signIns.world };
}

const rootAdministrates = { admin_group_claim_name: 'groups', admin_group: 'root' };

/** User of the provider with this name, and its other claims. */
function person(name: string, claims: object = {}): Someone {
  return { subject: `sub-${name}`, claims: { preferred_username: name, ...claims } };
}

t.test('a first sign-in creates the user, in the mapped quota groups, with one event each time', async t => {
  const { provider, signIns, world } = await open(t);
  const dave = (groups?: unknown) => person('dave', { name: 'Dave D.', email: 'dave@git.example', groups });

  provider.someone = dave(['staff', 'others']);
  const first = await signIns.signIn();
  t.match(first, { login: 'dave', isAdmin: false, at: { pathname: '/' } });
  t.match(await userOf(world, 'dave'), {
    full_name: 'Dave D.',
    email: 'dave@git.example',
    is_admin: false,
  });
  t.same(await groupsOf(world, 'dave'), ['gold']);

  provider.someone = dave('staff, guests');
  t.equal((await signIns.signIn(first.browser)).login, 'dave');
  t.same(await groupsOf(world, 'dave'), ['gold', 'bronze'], 'a text with commas');

  await signIns.edit({ quota_group_map: { guests: ['bronze'] } });
  provider.someone = dave(['others']);
  await signIns.signIn();
  t.same(await groupsOf(world, 'dave'), ['gold'], 'taken out of the mapping, staff removes nobody');

  await signIns.edit({ quota_group_map_removal: false, quota_group_map: { staff: ['gold', 'silver'] } });
  provider.someone = dave();
  await signIns.signIn();
  t.same(await groupsOf(world, 'dave'), ['gold'], 'without removal nobody goes');

  t.match(await signIns.events(), [
    { owner: 'dave', source: { name: 'company' }, via: 'sign-in', added: ['gold'], groups: ['gold'] },
    { added: ['bronze'], removed: [] },
    { added: [], removed: ['bronze'] },
    { added: [], removed: [] },
  ]);
  t.equal((await signIns.events()).length, 4);
  const policy = await world.must(200, 'GET', '/admin/quota/events?kind=policy&owner=dave');
  t.same(policy.json, []);
  t.same(signIns.faults, []);
});

t.test('a browser comes back to the page that it wanted, and to no other place', async t => {
  const { provider, signIns } = await open(t);
  provider.someone = person('dave');
  t.equal((await signIns.signIn(undefined, '/groups/gold')).at.pathname, '/groups/gold');
  for (const evil of [
    '//evil.example',
    'https://evil.example/',
    '/\\evil.example',
    '/nowhere',
    '/api/v1/session',
    'x',
  ]) {
    const { at, login } = await signIns.signIn(undefined, evil);
    t.match({ href: at.href, login }, { href: signIns.world.url.href, login: 'dave' }, evil);
  }
});

t.test('each sign-in is a session of its own, in place of the one before, and HttpOnly', async t => {
  const { provider, signIns } = await open(t);
  const { origin } = signIns.world.url;
  provider.someone = person('dave');
  const { browser } = await signIns.signIn();
  const names = [...browser.cookies(origin).keys()];
  t.same(names, ['softquota-session'], 'what it was begun with is gone');
  const first = browser.cookies(origin).get('softquota-session');
  t.match(first?.attributes, /HttpOnly.*SameSite=Lax/);

  const planted = new Browser();
  planted.set(origin, 'softquota-session', { value: first?.value ?? '', path: '/', attributes: '' });
  provider.someone = person('erin');
  t.equal((await signIns.signIn(planted)).login, 'erin');
  t.not(planted.cookies(origin).get('softquota-session')?.value, first?.value);
  t.equal(
    (await signIns.signed(browser, signIns.begin)).login,
    null,
    'who planted a session has none afterwards',
  );
});

t.test('several tabs may sign in side by side', async t => {
  const { provider, signIns } = await open(t);
  provider.someone = person('dave');
  const browser = new Browser();
  const first = await browser.go(signIns.begin, isBack);
  const second = await browser.go(signIns.begin, isBack);
  for (const back of [second, first]) {
    t.equal((await signIns.arrive(browser, back)).pathname, '/');
  }
});

t.test('a name that somebody has already is not taken over, unless names are the same people', async t => {
  const { provider, signIns, world } = await open(t);
  await world.post('/admin/users', { username: 'dave' });
  await world.post('/admin/users', { username: 'root', is_admin: true });
  const as = (name: string) => {
    provider.someone = person(name, { groups: 'staff' });
  };
  as('dave');
  t.match(await signIns.signIn(), { login: null, at: { search: '?fault=name_taken' } });
  t.same(await groupsOf(world, 'dave'), []);
  t.match(
    signIns.faults.at(-1)?.reason,
    /PUT \/api\/v1\/admin\/auths\/\d+\/links\/USER with \{"subject": "sub-dave"\}/,
  );

  await signIns.edit({ trust_usernames: true });
  t.equal((await signIns.signIn()).login, 'dave');
  // alice has tokens, root is an administrator, acme an organization; nobody of that is taken over.
  for (const name of ['alice', 'root', 'acme', 'Admin1']) {
    as(name);
    t.match(await signIns.signIn(), { login: null, at: { search: '?fault=name_taken' } }, name);
  }
  provider.someone = { subject: 'another', claims: { preferred_username: 'dave' } };
  t.match(
    await signIns.signIn(),
    { login: null, at: { search: '?fault=name_taken' } },
    'one at the same provider had it',
  );

  await world.put(`/admin/auths/${signIns.id}/links/alice`, { subject: 'sub-alice' });
  as('alice');
  const alice = await signIns.signIn();
  t.equal(alice.login, 'alice', 'an administrator has linked them');
  t.same(await groupsOf(world, 'alice'), ['gold']);
  await world.remove(`/admin/auths/${signIns.id}/links/alice`);
  t.equal((await signIns.signed(alice.browser, alice.at)).login, null, 'and has taken that back');
});

t.test('who has no name that can be used is not signed in', async t => {
  const { provider, signIns } = await open(t);
  provider.someone = { subject: 'sub-1', claims: {} };
  t.match(await signIns.signIn(), { login: null, at: { search: '?fault=nameless' } });
  provider.someone = { subject: 'sub-1', claims: { preferred_username: 'a\u0000b' } };
  t.match(await signIns.signIn(), { login: null, at: { search: '?fault=name_unusable' } });
  const script = '<script>alert(1)</script>';
  provider.someone = { subject: 'sub-1', claims: { preferred_username: script, name: script } };
  const { login, at } = await signIns.signIn();
  t.match(
    { login, path: at.pathname },
    { login: script, path: '/' },
    'a name is a text, whatever it looks like',
  );
});

t.test('administration follows the admin group at once, and only what the source gave', async t => {
  const { provider, signIns, world } = await open(t, rootAdministrates);
  const dave = (groups: unknown) => {
    provider.someone = person('dave', { groups });
  };
  dave(['root']);
  const before = await signIns.signIn();
  t.ok(before.isAdmin);
  dave([]);
  t.notOk((await signIns.signIn()).isAdmin);
  t.notOk((await signIns.signed(before.browser, before.at)).isAdmin, 'sessions of before have lost it, too');

  await world.patch('/admin/users/dave', { is_admin: true });
  t.ok((await signIns.signIn()).isAdmin, 'who was made one by hand stays one');
  dave(['root']);
  await signIns.signIn();
  dave([]);
  t.ok((await signIns.signIn()).isAdmin);

  await world.patch('/admin/users/dave', { is_admin: false });
  dave(['root']);
  t.ok((await signIns.signIn()).isAdmin);
  await world.remove(`/admin/auths/${signIns.id}`);
  t.notOk((await userOf(world, 'dave')).is_admin, 'it ends with the source');
  const given = (await signIns.events()).map(({ administration }) => administration);
  t.same(given, ['given', 'ended', 'unchanged', 'unchanged', 'unchanged', 'given']);
});

t.test('switching a source off, or to another provider, signs out all who came by it', async t => {
  const { provider, signIns, world } = await open(t, rootAdministrates);
  provider.someone = person('dave', { groups: 'root' });
  const isStillIn = async ({ browser, at }: Signed) => (await signIns.signed(browser, at)).login !== null;
  const isAdmin = async () => (await userOf(world, 'dave')).is_admin;

  const first = await signIns.signIn();
  await signIns.edit({ name: 'renamed', quota_group_map: {} });
  t.same([await isStillIn(first), await isAdmin()], [true, true], 'any other change leaves them in');
  await signIns.edit({ is_active: false });
  t.same([await isStillIn(first), await isAdmin()], [false, false]);
  await signIns.edit({ is_active: true });
  t.same([await isStillIn(first), await isAdmin()], [false, false], 'for good');

  const second = await signIns.signIn();
  t.equal(second.isAdmin, true);
  await signIns.edit({ admin_group: 'operators' });
  t.same(
    [await isStillIn(second), await isAdmin()],
    [true, false],
    'who is in another group is no administrator',
  );
  await signIns.edit({ admin_group: 'root' });

  const third = await signIns.signIn();
  t.equal(third.isAdmin, true);
  const elsewhere = { openid_connect_auto_discovery_url: 'http://127.0.0.1:2', client_secret: 'another' };
  await signIns.edit(elsewhere);
  t.same([await isStillIn(third), await isAdmin()], [false, false]);
});

t.test('two browsers that come at once for the first time are the same user', async t => {
  const { provider, signIns } = await open(t);
  provider.someone = person('dave', { groups: 'staff' });
  const browsers = [new Browser(), new Browser(), new Browser()];
  const backs = await Promise.all(browsers.map(browser => browser.go(signIns.begin, isBack)));
  const came = await Promise.all(
    browsers.map(async (browser, index) =>
      signIns.signed(browser, await signIns.arrive(browser, backs[index] ?? '')),
    ),
  );
  t.same(
    came.map(({ login }) => login),
    ['dave', 'dave', 'dave'],
  );
  t.same(
    (await signIns.events()).map(({ added }) => added),
    [['gold'], [], []],
  );
});

t.test('a renamed user stays the same one, and a deleted one comes as somebody new', async t => {
  const { provider, signIns, world } = await open(t);
  const as = (subject: string, name: string) => {
    provider.someone = { subject, claims: { preferred_username: name } };
  };
  as('sub-dave', 'dave');
  await signIns.signIn();
  await world.patch('/admin/users/dave', { username: 'david' });
  as('sub-dave', 'another name');
  const { browser, at, login } = await signIns.signIn();
  t.equal(login, 'david');
  as('sub-new', 'dave');
  t.equal((await signIns.signIn()).login, 'dave', "the name that became free is anybody's");
  as('sub-erin', 'david');
  t.match(await signIns.signIn(), { login: null, at: { search: '?fault=name_taken' } });

  await world.remove('/admin/users/david');
  t.equal((await signIns.signed(browser, at)).login, null);
  as('sub-dave', 'david');
  t.equal((await signIns.signIn()).login, 'david');
  t.equal((await signIns.signed(browser, at)).login, null, 'what was over stays over');
});

t.test('an absent claim takes administration and groups, or nothing with missing_claim = keep', async t => {
  const { provider, signIns, world } = await open(t, { ...rootAdministrates, missing_claim: 'keep' });
  const as = (claims: object) => {
    provider.someone = person('dave', claims);
  };
  as({ groups: ['root', 'staff'] });
  t.ok((await signIns.signIn()).isAdmin);
  as({});
  t.ok((await signIns.signIn()).isAdmin);
  t.same(await groupsOf(world, 'dave'), ['gold']);
  t.match((await signIns.events()).at(-1), { outcome: 'kept', removed: [], administration: 'unchanged' });
  await signIns.edit({ missing_claim: 'remove' });
  t.notOk((await signIns.signIn()).isAdmin);
  t.same(await groupsOf(world, 'dave'), []);
  t.match((await signIns.events()).at(-1), {
    outcome: 'synchronized',
    removed: ['gold'],
    administration: 'ended',
  });
});

t.test('claimed groups that the mapping does not name stand in the event, and only so many', async t => {
  const { provider, signIns } = await open(t, { quota_group_map: { free: ['bronze'], staff: ['gold'] } });
  provider.someone = person('dave', { groups: ['staff', '/free', '__proto__'] });
  await signIns.signIn();
  t.match((await signIns.events()).at(-1), {
    added: ['gold'],
    unmapped: ['/free', '__proto__'],
    unmapped_count: 2,
  });
  const many = Array.from({ length: 10_000 }, (_, index) => `group ${index} ${'x'.repeat(10)}`);
  provider.someone = person('dave', { groups: ['a'.repeat(10_000), ...many] });
  await signIns.signIn();
  const { unmapped = [], unmapped_count: count } = (await signIns.events()).at(-1) ?? {};
  t.match(
    { length: unmapped.length, longest: unmapped[0]?.length, count },
    { length: 50, longest: 255, count: 10_001 },
  );
});

t.test('nobody signs in by what is not there, not active, or away', async t => {
  const { signIns, world } = await open(t);
  const faultAt = async (address: string) =>
    (await signIns.arrive(new Browser(), new URL(address, world.url))).search;
  for (const id of ['1', 'x', '..%2f..', '%00'])
    t.equal(await faultAt(`sign-in/oauth2/${id}`), '?fault=unknown_source');
  t.equal(await faultAt('sign-in/oauth2/1/callback'), '?fault=unknown_source');
  t.equal(await faultAt(`sign-in/oauth2/${signIns.id}/callback`), '?fault=not_started_here');
  const browser = new Browser();
  const back = await browser.go(signIns.begin, isBack);
  await signIns.edit({ is_active: false });
  t.equal(await faultAt(`sign-in/oauth2/${signIns.id}`), '?fault=inactive_source');
  t.equal((await signIns.arrive(browser, back)).search, '?fault=inactive_source');
  await signIns.edit({
    is_active: true,
    openid_connect_auto_discovery_url: 'http://127.0.0.1:9',
    client_secret: 'x'.repeat(20),
  });
  t.equal(await faultAt(`sign-in/oauth2/${signIns.id}`), '?fault=provider_away');
  const denied = await world.must(404, 'GET', '/sign-in/oauth2');
  t.ok(messageOf(denied));
});

t.test('behind a proxy with a path, addresses and cookies have the path', async t => {
  const provider = await realProvider(t);
  const port = await freePort();
  const server = { HTTP_PORT: String(port), ROOT_URL: `http://127.0.0.1:${port}/quota/` };
  const signIns = await SignInWorld.open(t, provider, {}, { settings: { server } });
  provider.someone = person('dave');
  const isPage = (url: URL) => signIns.isHere(url) && !url.pathname.includes('/oauth2/');
  const browser = new Browser();
  const arrived = async (returnTo: string) => {
    const begin = new URL(`quota/sign-in/oauth2/${signIns.id}`, signIns.world.url);
    begin.searchParams.set('return_to', returnTo);
    const { pathname, search } = await browser.go(begin, isPage);
    return pathname + search;
  };
  t.equal(await arrived('/mine'), '/quota/mine');
  t.equal(await arrived('./'), '/quota/', 'as the sign-in page has it');
  t.equal(await arrived('./events?owner=dave'), '/quota/events?owner=dave');
  t.equal(await arrived('//elsewhere.example/mine'), '/quota/');
  const { status, body } = await browser.get(new URL('quota/api/v1/session', signIns.world.url));
  t.match({ status, body }, { status: 200, body: /"login":"dave"/ });
});
