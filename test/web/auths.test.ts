/** The page of OAuth2 sources, in Chromium. */

import t from 'tap';
import { z } from 'zod';
import { source } from '../../src/wire/index.ts';
import { groupsOf } from '../api/people.ts';
import { World } from '../api/world.ts';
import { until } from '../e2e/ask.ts';
import type { Tab } from '../e2e/browser.ts';
import { realProvider } from '../identity/oauth/provider.ts';
import { oddNames } from './realm.ts';
import { barriersInAnyLook, isLoaded, reads, readsNoMore, Web } from './world.ts';

t.setTimeout(900_000);

const world = await World.open(t);
for (const name of ['gold', 'bronze']) {
  await world.post('/admin/quota/groups', { name });
}
await world.put('/admin/quota/groups/bronze/users/alice');
const web = await Web.open(t);
const admin = await world.newToken('admin1', ['all']);

const labels = [
  'Claim name providing group names for this source to be used for quota management',
  'Map claimed groups to quota groups',
  'Remove users from synchronized quota groups if user does not belong to corresponding group',
] as const;

/** Input with this label. */
async function labelled(tab: Tab, label: string): Promise<string> {
  const id = await tab.page.$$eval(
    'label',
    (found, words) => found.find(each => each.innerText.trim() === words)?.htmlFor ?? '',
    label,
  );
  return `[id="${id}"]`;
}

const fill = async (tab: Tab, label: string, text: string) => tab.fill(await labelled(tab, label), text);

/** Opens the form of a new source, and fills in its name and its provider. */
async function describe(tab: Tab, name: string, issuer: string, client: string, secret: string) {
  await tab.click('main ::-p-text(New source)');
  await fill(tab, 'Name', name);
  await fill(tab, 'Issuer or discovery URL', issuer);
  await fill(tab, 'Client ID', client);
  await fill(tab, 'Client secret', secret);
}

/**
 * Tells whether the page has it anywhere, seen or not: as it stands there, in what is typed, or in what it
 * remembers.
 */
async function shows(tab: Tab, text: string): Promise<boolean> {
  const has = await tab.page.evaluate(
    `[document.documentElement.outerHTML, JSON.stringify([localStorage, sessionStorage, history.state, document.cookie]),
      ...[...document.querySelectorAll('input, textarea')].map(field => field.value)]
      .some(part => part.includes(${JSON.stringify(text)}))`,
  );
  return has === true;
}

t.test('an administrator makes a source, tries claims by it, and changes nothing by trying', async t => {
  const tab = await web.signedIn(world.url, admin, 'admin/auths');
  await reads(tab, 'No sources yet.', 'main');
  await describe(tab, oddNames.script, 'http://127.0.0.1:1/', 'softquota', 'a secret that is nowhere');
  await fill(tab, labels[0], 'groups');
  await fill(tab, labels[1], '{"staff": ["gold", "tin"], "guests": "bronze"}');
  await reads(tab, 'at "guests": expected a list of quota groups', 'main');
  t.equal(await tab.page.$eval('main button[type=submit]', button => button.hasAttribute('disabled')), true);
  await fill(tab, labels[1], '{"staff": ["gold", "tin"], "guests": ["bronze"]}');
  await reads(tab, 'No such quota group: “tin”', 'main');
  await tab.click(`main label ::-p-text(${labels[2]})`);

  await fill(tab, 'User', 'alice');
  await fill(tab, 'Claims (payload of an ID token, JSON)', '{"sub": "1", "groups": "staff, strangers"}');
  await tab.click('main form:last-of-type button[type=submit] ::-p-text(Test)');
  await reads(tab, 'The quota groups would follow the claim.', 'main');
  const facts = await tab.page.$eval('main .facts', list => list.innerText.replaceAll(/\s+/g, ' '));
  t.match(facts, /Added to gold Removed from bronze Groups afterwards gold Claimed groups staff, strangers/);
  t.match(facts, /No such quota group tin/);
  const { text } = await world.must(200, 'GET', '/admin/users/alice/quota');
  t.match(text, 'bronze');
  t.notMatch(text, 'gold');
  await fill(tab, 'User', 'nobody');
  await tab.click('main form:last-of-type button[type=submit] ::-p-text(Test)');
  await reads(tab, 'This user does not exist yet.', 'main');

  await tab.click('main ::-p-text(Create the source)');
  await reads(tab, 'is saved. Its redirect URI', 'main');
  await reads(tab, 'at the moment nobody can sign in with this source', 'main');
  await reads(tab, 'unknown groups', 'main');
  await reads(tab, oddNames.script, 'main');
  await reads(tab, 'A secret is set, and is never shown.', 'main');
  t.equal(await shows(tab, 'a secret that is nowhere'), false);

  await fill(tab, 'Client secret', 'another secret');
  t.equal(await shows(tab, 'another secret'), true);
  await tab.click('main ::-p-text(Save the source)');
  await until(
    async () => ((await shows(tab, 'another secret')) ? null : true),
    () => 'what was saved stays on the page',
  );

  await tab.click('main label ::-p-text(No client secret)');
  await tab.click('main ::-p-text(Save the source)');
  await reads(tab, 'No secret is set, because the provider needs none.', 'main');
  t.match(await world.get('/admin/auths'), [{ client_secret_state: 'none' }]);
});

t.test('whoever signs in by a source has the mapped groups; the others are shown, as text', async t => {
  const provider = await realProvider(t);
  const tab = await web.signedIn(world.url, admin, 'admin/auths');
  await describe(tab, 'company', provider.issuer, provider.client.id, provider.client.secret);
  await fill(tab, labels[0], 'groups');
  await fill(tab, labels[1], '{"staff": ["gold"], "guests": ["bronze"]}');
  await tab.click(`main label ::-p-text(${labels[2]})`);
  await tab.click('main ::-p-text(Create the source)');
  await reads(tab, 'company is saved.', 'main');
  t.notMatch(await tab.read('main'), 'nobody could sign in');
  const made = z.array(source).parse(await world.get('/admin/auths'));
  provider.allow(made.find(({ name }) => name === 'company')?.redirect_uri ?? '');

  const claims = { preferred_username: oddNames.script, groups: ['staff', oddNames.image] };
  provider.someone = { subject: 'sub-dave', claims };
  const theirs = await web.tab();
  await theirs.go(new URL('sign-in?back=mine%2Ftokens', world.url).href);
  await theirs.click('main ::-p-text(Sign in with company)');
  await theirs.page.waitForFunction('location.pathname === "/mine/tokens"');
  await reads(theirs, 'with single sign-on', 'main');
  await theirs.go(new URL('sign-in', world.url).href);
  await reads(theirs, `You are signed in as ${oddNames.script}.`, 'main');
  t.same(await groupsOf(world, oddNames.script), ['gold']);
  await reads(tab, 'Claimed groups without a mapping', 'main');
  await reads(tab, oddNames.image, 'main table');
  await reads(tab, 'sub-dave', 'main table');
  for (const { page } of [theirs, tab]) {
    t.match(await page.title(), / · softquota$/, 'it runs nothing');
    t.notOk(await page.$('main img, main script, header img, header script'), 'it has no element of a name');
  }
  const { id } = made.find(({ name }) => name === 'company') ?? { id: 0 };
  await world.must(204, 'DELETE', `/admin/auths/${id}`);
});

t.test('signing out at the provider as well: somebody else can sign in there afterwards', async t => {
  const provider = await realProvider(t);
  const tab = await web.signedIn(world.url, admin, 'admin/auths');
  await describe(tab, 'shared desk', provider.issuer, provider.client.id, provider.client.secret);
  await tab.click('main label ::-p-text(Also end the session at the provider at sign-out)');
  await tab.click('main ::-p-text(Create the source)');
  await reads(tab, 'shared desk is saved.', 'main');
  await reads(tab, `to be entered at the provider: ${world.url}sign-in`, 'main');
  const made = z.array(source).parse(await world.get('/admin/auths'));
  const shared = made.find(({ name }) => name === 'shared desk');
  provider.allow(shared?.redirect_uri ?? '', shared?.post_logout_redirect_uri);

  const desk = await web.tab();
  const signIn = async (name: string) => {
    provider.someone = { subject: `sub-${name}`, claims: { preferred_username: name } };
    await desk.click('main ::-p-text(Sign in with shared desk)');
    await desk.page.waitForFunction('location.pathname === "/mine"');
    return desk.page.evaluate(
      'fetch("api/v1/session").then(answer => answer.json()).then(({ login }) => login)',
    );
  };
  await desk.go(new URL('sign-in?back=mine', world.url).href);
  t.equal(await signIn('erin'), 'erin');
  await desk.click('nav ::-p-text(Sign out)');
  await desk.page.waitForFunction(`location.origin === ${JSON.stringify(provider.issuer)}`);
  await desk.click('button ::-p-text(Yes, sign me out)');
  await desk.page.waitForFunction(`location.href === ${JSON.stringify(`${world.url}sign-in`)}`);
  await reads(desk, 'Sign in with shared desk', 'main');
  await desk.go(new URL('sign-in?back=mine', world.url).href);
  t.equal(await signIn('frank'), 'frank', 'without it the provider would say again that it is erin');
  await world.must(204, 'DELETE', `/admin/auths/${shared?.id ?? 0}`);
});

t.test('users are linked and unlinked, and a source is deleted after asking', async t => {
  const tab = await web.signedIn(world.url, admin, 'admin/auths');
  await tab.click('main ::-p-text(Edit)');
  await reads(tab, 'No linked accounts.', 'main');
  await fill(tab, 'User on this server', 'bob');
  await fill(tab, 'Subject at the provider (sub)', 'subject-7');
  await tab.click('main ::-p-text(Link account)');
  await reads(tab, 'subject-7', 'main table');
  await tab.click('main td ::-p-text(Unlink)');
  await reads(tab, 'like the first one', 'dialog');
  await tab.click('dialog button[type=submit]');
  await readsNoMore(tab, 'subject-7', 'main');
  await tab.click('main ::-p-text(Delete)');
  await reads(tab, 'Users and their quota groups do not change.', 'dialog');
  await tab.click('dialog button[type=submit]');
  await reads(tab, 'No sources yet.', 'main');
  t.same(await world.get('/admin/auths'), []);
});

t.test('linked accounts are listed a page at a time', async () => {
  const made = await world.post('/admin/auths', {
    name: 'crowded',
    openid_connect_auto_discovery_url: 'http://127.0.0.1:1/',
    client_id: 'x',
  });
  const { id } = source.parse(made);
  const people = Array.from({ length: 51 }, (_, at) => `person-${at}`);
  for (const username of people) {
    await world.post('/admin/users', { username });
    await world.put(`/admin/auths/${id}/links/${username}`, { subject: `subject of ${username}` });
  }
  const tab = await web.signedIn(world.url, admin, 'admin/auths');
  await tab.click('main ::-p-text(Edit)');
  await reads(tab, '1 to 50 of 51 accounts', 'main');
  await tab.click('.pager ::-p-text(Next)');
  await reads(tab, '51 to 51 of 51 accounts', 'main');
  await reads(tab, 'subject of person-50', 'main table');
  await until(async () => tab.requests.some(url => url.endsWith('/links?page=2&limit=50')) || null);
  await world.remove(`/admin/auths/${id}`);
});

t.test('the sign-in page offers sources, and says of what went wrong only what it knows', async t => {
  await world.post('/admin/auths', {
    name: oddNames.image,
    openid_connect_auto_discovery_url: 'http://127.0.0.1:1/',
    client_id: 'x',
  });
  const tab = await web.tab();
  await tab.go(new URL('sign-in?back=mine%2Ftokens&fault=name_taken', world.url).href);
  await reads(tab, 'A user on this server already has your name.', '[role=alert]');
  await reads(tab, `Sign in with ${oddNames.image}`, 'main');
  const href = await tab.page.$eval('main a.button', link => link.getAttribute('href'));
  t.match(href, /^sign-in\/oauth2\/.*\?return_to=.*mine%2Ftokens$/);
  await Promise.all([tab.page.waitForNavigation(), tab.click('main a.button')]);
  await reads(tab, 'The identity provider does not answer.', '[role=alert]');
});

t.test('nothing keeps anybody out, on a desk and on a phone, light and dark', async t => {
  const tab = await web.signedIn(world.url, admin);
  await tab.go(new URL('admin/auths', world.url).href);
  await isLoaded(tab);
  t.same(await barriersInAnyLook(tab), [], 'the list');
  await tab.click('main ::-p-text(Edit)');
  await reads(tab, 'Link account', 'main');
  await isLoaded(tab);
  t.same(await barriersInAnyLook(tab), [], 'a source');
});
