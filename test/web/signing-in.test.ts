/** Signing in as people do it, wherever the daemon lies; and what other sites cannot do with it. */

import t from 'tap';
import { account, addressOf } from '../e2e/accounts.ts';
import type { Tab } from '../e2e/browser.ts';
import { Server } from '../e2e/server.ts';
import { waysIn } from '../e2e/ways-in.ts';
import { served } from '../served.ts';
import { isLoaded, reads, Web } from './world.ts';

t.setTimeout(600_000);

const web = await Web.open(t);

async function linkFor(server: Server, user: string): Promise<string> {
  const { stdout } = await server.softquota(['sign-in-link', '--user', user]);
  return stdout.trim();
}

/** All that is red in the console but what the daemon answered, and what was left before it had answered. */
function complaintsOf(tab: Tab): readonly string[] {
  return tab.complaints.filter(complaint => !/status of 4\d\d/.test(complaint));
}

for (const [way, open] of Object.entries(await waysIn())) {
  t.test(`${way}, a link signs in, pages are found, and signing out forgets it`, async t => {
    const server = await Server.open(t, { started: false });
    const address = await open(t, server);
    await account(server, 'root', { isAdmin: true });
    const tab = await web.tab();
    await tab.go(await linkFor(server, 'root'));
    await reads(tab, 'root');
    await tab.page.waitForFunction('!location.pathname.endsWith("sign-in")');
    t.equal(tab.page.url().replace(/#$/, ''), address, 'the code is in no address any more');
    const cookies = await tab.page.browserContext().cookies();
    t.match(cookies, [
      { name: 'softquota-session', path: new URL(address).pathname, httpOnly: true, sameSite: 'Lax' },
    ]);
    t.equal(await tab.page.evaluate('document.cookie'), '');

    await tab.go(new URL('owners/root', address).href);
    await isLoaded(tab);
    await reads(tab, 'root', 'h1');
    t.strictSame(complaintsOf(tab), [], 'nothing is blocked');
    const elsewhere = tab.requests.filter(url => !url.startsWith(address) && !url.startsWith('data:'));
    t.strictSame(elsewhere, [], 'nothing is asked of another host');

    await tab.click('::-p-text(Sign out)');
    await tab.page.waitForFunction('location.pathname.endsWith("sign-in")');
    t.strictSame(await tab.page.browserContext().cookies(), []);
  });
}

t.test('a page of somebody else’s changes nothing, frames nothing, and signs nobody in', async t => {
  const server = await Server.open(t);
  const address = await addressOf(server);
  const token = await account(server, 'root', { isAdmin: true });
  const mallory = await account(server, 'mallory');
  const posts = `
    const post = (path, body, type) => fetch(${JSON.stringify(address)} + path, {
      method: 'POST', mode: type === undefined ? 'no-cors' : 'cors', credentials: 'include',
      headers: type === undefined ? {} : { 'Content-Type': type }, body: JSON.stringify(body),
    }).catch(() => {});
    Promise.all([
      post('api/v1/admin/users', { username: 'planted' }),
      post('api/v1/admin/users', { username: 'planted' }, 'application/json'),
      post('api/v1/admin/auths', { username: 'planted' }, 'application/x-www-form-urlencoded'),
      post('api/v1/session', { token: ${JSON.stringify(mallory)} }),
      post('api/v1/session', { token: ${JSON.stringify(mallory)} }, 'application/json'),
    ])`;
  const page = `<!doctype html><title>elsewhere</title>
    <iframe src="${address}owners"></iframe>
    <form id="form" method="post" enctype="text/plain" action="${address}api/v1/admin/users">
      <input name='{"username": "planted", "email": "' value='@x"}'>
    </form>`;
  const port = await served(t, (_, response) => response.setHeader('Content-Type', 'text/html').end(page));

  // Another port of the same host is the same site, so that SameSite alone would let it through; another name
  // is not.
  for (const host of ['127.0.0.1', 'localhost']) {
    const tab = await web.signedIn(new URL(address), token);
    await reads(tab, 'root');
    await tab.go(`http://${host}:${port}/`);
    await tab.complained(/frame-ancestors 'none'/);
    await tab.page.evaluate(posts);
    await Promise.all([tab.page.waitForNavigation(), tab.page.evaluate('form.submit()')]);
    t.match(await tab.page.evaluate('document.body.innerText'), /page of softquota|token is required/, host);
    await tab.go(address);
    await reads(tab, 'root');
  }
  const { text } = await server.ask('admin', '/api/v1/admin/users');
  t.notMatch(text, /planted/);
});
