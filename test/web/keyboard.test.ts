/** Everything works without a mouse. */

import t from 'tap';
import type { Tab } from '../e2e/browser.ts';
import { oddNames, realm } from './realm.ts';
import { isLoaded, reads, Web } from './world.ts';

t.setTimeout(600_000);

const world = await realm(t);
const web = await Web.open(t);
const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']));

async function open(path: string): Promise<void> {
  await tab.go(new URL(path, world.url).href);
  await isLoaded(tab);
}

const focused = ({ page }: Tab) =>
  page.evaluate('document.activeElement.innerText || document.activeElement.name');

/** Goes on by Tab until what has the focus reads like this. */
async function tabTo(words: string): Promise<void> {
  const seen: unknown[] = [];
  for (let steps = 0; steps < 120; steps++) {
    await tab.page.keyboard.press('Tab');
    const now = await focused(tab);
    if (now === words) return;
    seen.push(now);
  }
  throw new Error(`${words} is not come to: ${seen.join(' | ')}`);
}

t.test('the first key leads past the navigation', async t => {
  await open('owners');
  await tab.page.keyboard.press('Tab');
  t.equal(await focused(tab), 'Skip to the content');
  await tab.page.keyboard.press('Enter');
  t.equal(await tab.page.evaluate('document.activeElement.localName'), 'main');
  await tab.page.keyboard.press('Tab');
  t.equal(await focused(tab), 'Download CSV');
});

t.test('a page that one comes to by a link has the focus on its heading', async t => {
  await open('owners');
  await tabTo('Groups');
  await tab.page.keyboard.press('Enter');
  await reads(tab, 'Groups', 'h1');
  t.equal(await tab.page.evaluate('document.activeElement.localName'), 'h1');
});

t.test('a list is sorted by the heading of a column, which says so', async t => {
  await open('owners');
  await tabTo('Stored');
  await tab.page.keyboard.press('Enter');
  await tab.page.waitForSelector('th[aria-sort=ascending]');
  await tab.page.waitForFunction('document.querySelector("tbody th").innerText !== "acme"');
  t.match(tab.page.url(), /sort=total&order=asc/);
});

t.test('a dialog keeps the focus, is left by Escape, and gives the focus back', async t => {
  await open('groups/free');
  await tabTo('Delete');
  await tab.page.keyboard.press('Enter');
  await reads(tab, 'Delete the group free?', 'dialog');
  for (let steps = 0; steps < 8; steps++) {
    await tab.page.keyboard.press('Tab');
    // Behind the last one the browser's own bar has its turn, the page has none.
    t.ok(
      await tab.page.evaluate(
        'document.activeElement.closest("dialog") !== null || document.activeElement === document.body',
      ),
    );
  }
  await tab.page.keyboard.press('Escape');
  await tab.page.waitForFunction('document.querySelector("dialog") === null');
  t.equal(await focused(tab), 'Delete');
  t.equal((await world.call('GET', '/admin/quota/groups/free')).status, 200, 'nothing was done');
});

t.test('a rule is made: its kinds are ticked with the space bar', async t => {
  await open('rules');
  await tabTo('New rule');
  await tab.page.keyboard.press('Enter');
  await reads(tab, 'Kinds of data, counted together', 'main');
  await tab.page.focus('::-p-aria(Name of the rule)');
  await tab.page.keyboard.type('by-keyboard');
  await tab.page.keyboard.press('Tab');
  await tab.page.keyboard.type('2.5 GiB');
  await tab.page.keyboard.press('Tab');
  await tab.page.keyboard.press('Space');
  await reads(tab, 'the rule would limit nothing', 'main');
  await tab.page.keyboard.press('Tab');
  await tab.page.keyboard.press('Space');
  await reads(tab, 'size:git:all', 'main');
  await tab.page.waitForSelector('button[type=submit]:not(:disabled)');
  await tabTo('Create the rule');
  await tab.page.keyboard.press('Enter');
  await reads(tab, 'Rule by-keyboard', 'h1');
  t.match((await world.must(200, 'GET', '/admin/quota/rules/by-keyboard')).json, {
    limit: 2.5 * 1024 ** 3,
    subjects: ['size:git:all'],
  });
});

t.test('on a phone the pages are behind a button that says whether it is open', async t => {
  await tab.page.setViewport({ width: 360, height: 800 });
  await open('');
  t.notOk(await (await tab.page.$('nav[aria-label=Pages]'))?.isVisible());
  await tabTo('Menu');
  await tab.page.keyboard.press('Enter');
  await tab.page.waitForSelector('button[aria-expanded=true]');
  await tabTo('Owners');
  await tab.page.keyboard.press('Enter');
  await reads(tab, oddNames.emoji.slice(-3), 'main');
});
