/**
 * Signing in and out, in Chromium, and pages that are open while the daemon goes away or the session ends.
 */

import t from 'tap';
import { signInLink } from '../../src/wire/index.ts';
import { endSessions } from '../api/people.ts';
import { World } from '../api/world.ts';
import { Tab } from '../e2e/browser.ts';
import { freePort } from '../e2e/transports.ts';
import { isLoaded, lookAt, reads, readsNoMore, signIn, Web } from './world.ts';

t.setTimeout(600_000);

// A port that stays when the daemon starts again.
const world = await World.open(t, { settings: { server: { HTTP_PORT: String(await freePort()) } } });
const web = await Web.open(t);
const field = 'main input[type=password]';

async function tabAt(path: string): Promise<Tab> {
  const tab = await web.tab();
  await tab.go(new URL(path, world.url).href);
  return tab;
}

async function linkOf(user: string): Promise<string> {
  return signInLink.parse((await world.must(201, 'POST', `/users/${user}/sign-in-link`)).json).url;
}

/** The path below the base URL. */
async function arrivedAt(tab: Tab, path: string): Promise<void> {
  await tab.page.waitForFunction(`location.href === ${JSON.stringify(new URL(path, world.url).href)}`);
}

t.test('whoever pastes a token is signed in, and comes to the page that they had asked for', async t => {
  const token = await world.newToken('alice', ['all']);
  const tab = await tabAt('organizations/acme');
  await arrivedAt(tab, 'sign-in?back=organizations%2Facme');
  await tab.fill(field, ` ${token} `);
  await tab.click('main button[type=submit]');
  await arrivedAt(tab, 'organizations/acme');
  await reads(tab, 'acme', 'h1');
  const kept = await tab.page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])');
  t.equal(kept, '[{},{},""]', 'no script can read what one is signed in with');
  t.notOk(
    tab.requests.some(address => address.includes(token)),
    'no address has the token',
  );
});

t.test('a token that is not known signs nobody in, and another one can be tried', async t => {
  const tab = await tabAt('sign-in');
  await tab.fill(field, 'a'.repeat(40));
  await tab.click('main button[type=submit]');
  await reads(tab, 'Invalid or expired token.', '[role=alert]');
  await tab.fill(field, await world.newToken('bob', ['all']));
  await tab.click('main button[type=submit]');
  await arrivedAt(tab, 'mine');
  await reads(tab, 'My usage', 'h1');
  t.notMatch(await tab.read('main'), 'not known');
});

t.test('a link signs in once, and its code is taken out of the address', async t => {
  const link = await linkOf('bob');
  const tab = await web.tab();
  await tab.go(link);
  await arrivedAt(tab, 'mine');
  const before = await (await tab.page.createCDPSession()).send('Page.getNavigationHistory');
  t.notMatch(before.entries.map(({ url }) => url).join(), 'code', 'nor is it in the way back');
  const second = await web.tab();
  await second.go(link);
  await reads(second, 'The link is invalid, expired, or already used.', '[role=alert]');
  t.notMatch(second.page.url(), 'code');
});

t.test('a link that signed nobody in because the store was away is tried again', async () => {
  const tab = await web.tab();
  const body = JSON.stringify({ message: 'the store cannot be written at the moment: try again' });
  let isAway = true;
  await tab.page.setRequestInterception(true);
  tab.page.on('request', request =>
    isAway && request.method() === 'POST'
      ? request.respond({ status: 503, contentType: 'application/json', body })
      : request.continue(),
  );
  await tab.go(await linkOf('bob'));
  await reads(tab, 'The store cannot be written at the moment: try again.', '[role=alert]');
  isAway = false;
  await tab.click('main ::-p-text(Try again)');
  await arrivedAt(tab, 'mine');
});

t.test('a link asks first where somebody is signed in already', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('alice', ['all']), 'mine');
  await isLoaded(tab);
  await tab.go(await linkOf('bob'));
  await reads(tab, 'You are signed in as alice.', 'main');
  t.notMatch(tab.page.url(), '#code');
  await tab.click('main ::-p-text(Sign in with the link)');
  await arrivedAt(tab, 'mine');
  await tab.click('nav ::-p-text(My tokens)');
  await isLoaded(tab);
  const json = await world.get('/users/bob/sessions');
  t.ok(Array.isArray(json) && json.length > 0, 'it is bob now');
});

t.test('an address that leads elsewhere is not followed after signing in', async t => {
  const elsewhere = encodeURIComponent('https://evil.example/mine');
  const tab = await tabAt(`sign-in?back=${elsewhere}&fault=${encodeURIComponent('<b>call 555</b>')}`);
  t.notMatch(await tab.read('main'), '555', 'nor does it put words on the page');
  await tab.fill(field, await world.newToken('bob', ['all']));
  await tab.click('main button[type=submit]');
  await arrivedAt(tab, 'mine');
});

t.test('signing in takes no mouse', async t => {
  const token = await world.newToken('bob', ['all']);
  const tab = await tabAt('sign-in');
  await tab.page.waitForSelector(field);
  for (let step = 0; step < 10; step++) {
    await tab.page.keyboard.press('Tab');
    if (await tab.page.evaluate('document.activeElement?.matches("input[type=password]")')) break;
  }
  await tab.page.keyboard.type(token);
  await tab.page.keyboard.press('Enter');
  await arrivedAt(tab, 'mine');
  t.equal(await tab.read('h1'), 'My usage');
});

t.test('while the daemon is away a page says since when, and goes on by itself once it is back', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'owners');
  const { href } = world.url;
  await world.report('alice', 'size:git:lfs', 1_000_000);
  await reads(tab, '1 MB', 'main');
  await world.close();
  await reads(tab, 'has not answered since', '.banner');
  t.match(await tab.read('main'), /1 MB/, 'the figures stay');
  await world.start();
  t.equal(world.url.href, href);
  await readsNoMore(tab, 'has not answered since');
  await world.report('alice', 'size:git:lfs', 2_000_000);
  await reads(tab, '2 MB', 'main');
  await reads(tab, 'The daemon answers again.', '[aria-live]');
});

t.test('a page opened while the daemon goes away shows its figures as soon as it is back', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'groups');
  await isLoaded(tab);
  await world.close();
  await tab.click('nav ::-p-text(Owners)');
  await reads(tab, 'Cannot show the owners', 'main');
  await world.start();
  await reads(tab, '2 MB', 'main');
  t.notMatch(await tab.read('main'), /Cannot show/);
});

t.test('where the session ends a page says so, and goes on where it was after signing in', async t => {
  const token = await world.newToken('admin1', ['all']);
  const tab = await web.signedIn(world.url, token, 'owners?q=ali');
  await reads(tab, 'alice', 'main');
  await endSessions(world, 'admin1');
  await reads(tab, 'Your session has ended', '.banner');
  t.match(await tab.read('main'), /alice/, 'what was there stays');
  await world.report('alice', 'size:git:lfs', 3_000_000);
  await tab.click('.banner button');
  await tab.fill('dialog input[type=password]', token);
  await tab.page.keyboard.press('Enter');
  await readsNoMore(tab, 'Your session has ended');
  await reads(tab, '3 MB', 'main');
  t.equal(tab.page.url(), new URL('owners?q=ali', world.url).href);
});

t.test('where the session ends, other ways to sign in are in a new tab, and the page goes on', async t => {
  const token = await world.newToken('admin1', ['all']);
  const tab = await web.signedIn(world.url, token, 'owners?q=ali');
  await reads(tab, 'alice', 'main');
  await endSessions(world, 'admin1');
  await tab.click('.banner button');
  await tab.click('dialog a');
  const opened = await tab.page.browserContext().waitForTarget(target => target.url().endsWith('/sign-in'));
  const page = await opened.page();
  if (page === null) throw new Error('no tab was opened');
  await signIn(new Tab(page), token);
  await lookAt(tab);
  await readsNoMore(tab, 'Your session has ended');
  t.equal(tab.page.url(), new URL('owners?q=ali', world.url).href);
});

t.test('where another user signs in in a new tab, no page keeps the figures of the first', async () => {
  const tab = await web.signedIn(world.url, await world.newToken('alice', ['all']), 'mine');
  await reads(tab, '3 MB', 'main');
  // No answer comes for the second user.
  await tab.page.setRequestInterception(true);
  tab.page.on('request', request => {
    if (!request.url().includes('/user/quota')) void request.continue();
  });
  const other = new Tab(await tab.page.browserContext().newPage());
  await other.go(new URL('api/v1/version', world.url).href);
  await signIn(other, await world.newToken('bob', ['all']));
  await lookAt(tab);
  await readsNoMore(tab, '3 MB', 'main');
});
