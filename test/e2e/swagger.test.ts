/**
 * The page of /api/swagger as somebody uses it: in Chromium, on a running daemon, also behind nginx below a
 * path.
 */

import t from 'tap';
import { some } from '../run-length.ts';
import { account, addressOf } from './accounts.ts';
import { Browser, type Tab } from './browser.ts';
import { Server } from './server.ts';
import { waysIn } from './ways-in.ts';

t.setTimeout(600_000);

const browser = await Browser.open(t);
const server = await Server.open(t);
const address = await addressOf(server);

const operation = (id: string) => `#operations-policy-${id}`;

async function authorize(tab: Tab, token: string): Promise<void> {
  await tab.click('.btn.authorize');
  await tab.fill('#auth-bearer-value', token);
  await tab.click('.modal-ux button[type=submit]');
  await tab.click('.modal-ux button.btn-done');
}

const section = (name: string) => `#operations-tag-${name}`;

/** Opens an operation of the section `policy`, which is open, and gets what it takes ready for writing. */
async function tryOut(tab: Tab, id: string): Promise<void> {
  await tab.click(`${operation(id)} .opblock-summary-control`);
  await tab.click(`${operation(id)} .try-out__btn`);
}

/** Executes an operation, and gives the answer as the page shows it. */
async function execute(tab: Tab, id: string): Promise<{ readonly status: string; readonly body: string }> {
  await tab.click(`${operation(id)} .execute`);
  const shown = `${operation(id)} .live-responses-table .response`;
  const status = await tab.read(`${shown} .response-col_status`);
  return { status: status.trim(), body: await tab.read(`${shown} .highlight-code pre`) };
}

const group = {
  name: 'students/first year',
  rules: [{ name: 'disk', limit: 5_000_000_000, subjects: ['size:all'] }],
};
const shown = { ...group, rules: group.rules.map(rule => ({ ...rule, per: 'owner' })) };

for (const [way, open] of some(Object.entries(await waysIn()), 3)) {
  t.test(`${way}, the page takes a token and sends requests, and loads no other host`, async t => {
    const server = await Server.open(t, { started: false });
    const address = await open(t, server);
    const token = await account(server, 'root', { isAdmin: true });
    const tab = await browser.tab();

    await tab.go(`${address}api/swagger`);
    t.match(await tab.read('.info .title'), /^softquota/);
    await authorize(tab, token);

    await tab.click(section('policy'));
    await tryOut(tab, 'createGroup');
    await tab.fill(`${operation('createGroup')} textarea`, JSON.stringify(group));
    const created = await execute(tab, 'createGroup');
    t.equal(created.status, '201');
    t.strictSame(JSON.parse(created.body), shown, 'the answer is shown');
    t.strictSame(await server.admin('/admin/quota/groups'), [shown], 'and the daemon has the group');

    if (!way.includes('takes the path off')) {
      await tryOut(tab, 'getGroup');
      await tab.fill(`${operation('getGroup')} input[placeholder=group]`, group.name);
      const found = await execute(tab, 'getGroup');
      t.equal(found.status, '200', 'names may have slashes');
      t.strictSame(JSON.parse(found.body), shown);
    }

    t.strictSame(tab.complaints, [], 'nothing is blocked, and nothing is missing');
    const elsewhere = tab.requests.filter(url => !url.startsWith(address) && !url.startsWith('data:'));
    t.strictSame(elsewhere, [], 'nothing is asked of another host');
  });
}

t.test('a script that got into the page would not run', async t => {
  const tab = await browser.tab();
  await tab.go(`${address}api/swagger`);
  await tab.read('.info .title');
  const inject = `
    const script = document.createElement('script');
    script.textContent = 'window.wasRun = true';
    document.body.append(script);
    const image = document.createElement('img');
    image.src = 'http://127.0.0.1:1/elsewhere';
    document.body.append(image);
    window.wasRun === true`;
  t.equal(await tab.page.evaluate(inject), false);
  await tab.complained(/elsewhere/);
  t.match(tab.complaints.join('\n'), /script-src 'self'/);
});

t.test('the page is found with a slash behind it, and only what it needs is served below it', async t => {
  const slash = await fetch(`${address}api/swagger/`);
  t.equal(slash.url, `${address}api/swagger`);
  for (const file of ['swagger-ui-bundle.js.map', 'index.html', 'package.json', '../../package.json']) {
    t.equal((await fetch(`${address}api/swagger/${encodeURIComponent(file)}`)).status, 404, file);
  }
});
