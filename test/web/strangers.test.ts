/** Input of strangers, to Chromium and by it: names from a provider that lies, and pages of another site. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import t from 'tap';
import { printable } from '../../src/text/index.ts';
import { hostileProvider } from '../oauth/hostile-provider.ts';
import { SignInWorld } from '../oauth/world.ts';
import { administratorsPages, oddNames } from './realm.ts';
import { isLoaded, reads, Web } from './world.ts';

t.setTimeout(600_000);

const provider = await hostileProvider(t);
const signIns = await SignInWorld.open(t, provider, {
  quota_group_map: { [oddNames.script]: ['gold', oddNames.image] },
});
const { world } = signIns;
const web = await Web.open(t);
const admin = await world.newToken('admin1', ['all']);

t.test('whatever a provider calls people and groups is only text on every page', async t => {
  const claims = {
    sub: oddNames.image,
    preferred_username: oddNames.script,
    name: oddNames.image,
    groups: [oddNames.script, oddNames.image],
  };
  provider.lies = { claims, userinfo: { sub: oddNames.image } };
  const theirs = await web.tab();
  await theirs.go(signIns.begin.href);
  await theirs.go(new URL('sign-in', world.url).href);
  await reads(theirs, `You are signed in as ${oddNames.script}.`, 'main');
  t.match(await signIns.events(), [{ owner: oddNames.script, added: ['gold'], skipped: [oddNames.image] }]);

  const tab = await web.signedIn(world.url, admin, 'admin/auths');
  await tab.click('main ::-p-text(Edit)');
  await reads(tab, printable(oddNames.image), 'main table');
  await tab.fill('main form:last-of-type textarea', JSON.stringify(claims));
  const paste = await tab.page.$$eval('main textarea', found => found.length);
  t.equal(paste, 2, 'the mapping, and claims to try');
  const pages = [theirs, tab];
  const isOnlyText = async (where: string) => {
    for (const { page } of pages) {
      t.match(await page.title(), / · softquota$/, `${where} runs nothing`);
      t.notOk(
        await page.$('main img, main script, header img, header script'),
        `${where} has no element of a name`,
      );
    }
  };
  await isOnlyText('who is who');
  for (const path of administratorsPages([oddNames.script])) {
    await tab.go(new URL(path, world.url).href);
    await isLoaded(tab);
    await isOnlyText(path);
  }
});

t.test('a page of another site changes nothing in the name of who is signed in here', async t => {
  const site = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html').end(`<title>waiting</title>
      <form method="post" enctype="text/plain" action="${world.url}api/v1/admin/users"><input name='{"username":"planted","x":"' value='"}'></form>
      <script>
        const send = (path, method, type) => fetch("${world.url}api/v1" + path, {
          method, mode: "no-cors", credentials: "include", headers: { "Content-Type": type },
          body: method === "GET" ? undefined : JSON.stringify({ username: "planted" }),
        }).then(() => 0, () => 0);
        Promise.all([
          send("/admin/users", "POST", "text/plain"),
          send("/admin/users", "POST", "application/json"),
          send("/admin/auths", "POST", "application/x-www-form-urlencoded"),
        ]).then(() => { document.title = "sent"; });
      </script>`);
  });
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  t.teardown(() => site.close());
  const address = site.address();
  if (address === null || typeof address === 'string') throw new Error('it listens on a port');

  const tab = await web.signedIn(world.url, admin, 'owners');
  await isLoaded(tab);
  // Another port is of the same site, another name is not: cookies come along with the one, but not with the
  // other.
  for (const host of ['127.0.0.1', 'localhost']) {
    await tab.go(`http://${host}:${address.port}/`);
    await tab.page.waitForFunction('document.title === "sent"');
    await Promise.all([tab.page.waitForNavigation(), tab.page.evaluate('document.forms[0].submit()')]);
    t.equal(tab.page.url(), `${world.url}api/v1/admin/users`, 'the form came here');
  }
  await world.must(404, 'GET', '/admin/users/planted');
  await tab.go(new URL('owners', world.url).href);
  await isLoaded(tab);
  t.match(tab.page.url(), /owners$/, 'and they are still signed in');
});
