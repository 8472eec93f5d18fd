/**
 * Every page of the administrators: names that strangers chose, what keeps people out (axe, in both colour
 * schemes, on a desk and on a phone), and work without a mouse.
 */

import t from 'tap';
import { z } from 'zod';
import { printable } from '../../src/text.ts';
import { administratorsPages, odd, oddNames, realm } from './realm.ts';
import { barriersInAnyLook, focused, isLoaded, lookAs, opener, reads, tabTo, Web } from './world.ts';

t.setTimeout(900_000);

const world = await realm(t);
const web = await Web.open(t);
const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']));

const open = opener(world.url, tab);

t.test('a name with script, quotes, reading direction or emoji is only text, wherever it stands', async t => {
  for (const path of administratorsPages(odd)) {
    await open(path);
    const text = String(await tab.page.evaluate('document.body.innerText'));
    t.notMatch(text, /[\u202a-\u202e\u2066-\u2069\u200d]/, `${path} shows nothing that misleads`);
    t.match(await tab.page.title(), / · softquota$/, `${path} runs nothing`);
    t.notOk(await tab.page.$('main img, main script'), `${path} has no element of a name`);
  }
  t.same(
    tab.complaints.filter(complaint => !/status of 404/.test(complaint)),
    [],
    'the browser complains of nothing but the icon that the first address has none of',
  );
});

t.test('each can be found, and leads to its own page', async _t => {
  for (const name of odd) {
    await tab.go(new URL('owners', world.url).href);
    await tab.fill('input[type=search]', name);
    await tab.page.waitForFunction('document.querySelectorAll("tbody tr").length === 1');
    await tab.click('tbody a');
    await reads(tab, printable(name), 'h1');
    const title = JSON.stringify(`${printable(name)} · softquota`);
    await tab.page.waitForFunction(`document.title === ${title}`);
  }
});

t.test('on a phone an ordinary name breaks between its words, never inside one', async t => {
  const names = ['administrators', 'companies', 'one-gigabyte'];
  for (const name of ['administrators', 'companies']) {
    const rules = [{ name: 'one-gigabyte' }];
    await world.post('/admin/quota/groups', { name, rules });
  }
  await lookAs(tab, { scheme: 'light', width: 360 });
  for (const path of ['groups', 'rules']) {
    await open(path);
    for (const name of names) {
      const lines = z.array(z.number()).parse(await tab.page.evaluate(linesOfWords(name)));
      t.same([...new Set(lines)], [1], `${path}: each word of ${name} in one line`);
    }
  }
});

/** Lines that each word of the name takes, wherever it stands in a table. */
function linesOfWords(name: string): string {
  return `[...document.querySelectorAll('td bdi, th bdi')]
    .filter(({ textContent }) => textContent === ${JSON.stringify(name)})
    .flatMap(({ firstChild }) => [...firstChild.data.matchAll(/[^-]+/g)].map(({ 0: { length }, index }) => {
      const word = document.createRange();
      word.setStart(firstChild, index);
      word.setEnd(firstChild, index + length);
      return new Set([...word.getClientRects()].map(({ top }) => top)).size;
    }))`;
}

/**
 * Parts that are only there once somebody asks for them: a page, what to press, and what is then to be read.
 */
const opened = [
  ['groups', 'New group', 'Name of the group'],
  ['rules', 'New rule', 'Kinds of data, counted together'],
  ['groups/free', 'Edit', 'Members'],
  ['groups/free', 'Delete', 'What would change'],
  ['owners', 'New owner', 'Create owner'],
  ['owners', 'Choose all of this page', 'Change a group'],
  ['groups/nobody-has-it', 'Create it', 'Name of the group'],
  ['owners/bob', 'Edit groups', 'Save the groups'],
  ['owners/bob', 'Rename', 'New name'],
  ['owners/bob', 'New token', 'Last valid day'],
] as const;

t.test('nothing keeps anybody out, on a desk and on a phone, light and dark', async t => {
  for (const path of [
    ...administratorsPages([oddNames.long]),
    'owners/bob',
    'owners?state=over',
    'nowhere',
    'groups/free',
    'rules/one-gigabyte',
  ]) {
    await open(path);
    t.same(await barriersInAnyLook(tab), [], path === './' ? 'overview' : path);
  }
  for (const [path, button, words] of opened) {
    await open(path);
    await tab.click(`main ::-p-text(${button})`);
    await reads(tab, words, 'main');
    await isLoaded(tab);
    t.same(await barriersInAnyLook(tab), [], `${path}: ${button}`);
  }
});

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
  await tabTo(tab, 'Policy');
  await tab.page.keyboard.press('Enter');
  await reads(tab, 'Policy', 'h1');
  t.equal(await tab.page.evaluate('document.activeElement.localName'), 'h1');
});

t.test('a list has the largest first, and is sorted by the heading of a column, which says so', async t => {
  await open('owners');
  await tab.page.waitForSelector('th[aria-sort=descending]');
  await tabTo(tab, 'Stored');
  await tab.page.keyboard.press('Enter');
  await tab.page.waitForSelector('th[aria-sort=ascending]');
  await tab.page.waitForFunction('document.querySelector("tbody th").innerText !== "acme"');
  t.match(tab.page.url(), /sort=total&order=asc/);
});

t.test('a dialog keeps the focus, is left by Escape, and gives the focus back', async t => {
  await open('groups/free');
  await tabTo(tab, 'Delete');
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
  await tabTo(tab, 'New rule');
  await tab.page.keyboard.press('Enter');
  await reads(tab, 'Kinds of data, counted together', 'main');
  await tab.page.focus('::-p-aria(Name of the rule)');
  await tab.page.keyboard.type('by-keyboard');
  await tab.page.keyboard.press('Tab');
  await reads(tab, 'What is limited', 'main');
  await tab.page.keyboard.press('Tab');
  await tab.page.keyboard.type('2.5 GiB');
  await tab.page.keyboard.press('Tab');
  await tab.page.keyboard.press('Space');
  await reads(tab, 'the rule would limit nothing', 'main');
  await tab.page.keyboard.press('Tab');
  await tab.page.keyboard.press('Space');
  await reads(tab, 'size:git:all', 'main');
  await tab.page.waitForSelector('button[type=submit]:not(:disabled)');
  await tabTo(tab, 'Create the rule');
  await tab.page.keyboard.press('Enter');
  await reads(tab, 'Rule by-keyboard', 'h1');
  t.match(await world.get('/admin/quota/rules/by-keyboard'), {
    limit: 2.5 * 1024 ** 3,
    subjects: ['size:git:all'],
  });
});

t.test('on a phone the pages are behind a button that says whether it is open', async t => {
  await tab.page.setViewport({ width: 360, height: 800 });
  await open('');
  t.notOk(await (await tab.page.$('nav[aria-label=Pages]'))?.isVisible());
  await tabTo(tab, 'Menu');
  await tab.page.keyboard.press('Enter');
  await tab.page.waitForSelector('button[aria-expanded=true]');
  await tabTo(tab, 'Owners');
  await tab.page.keyboard.press('Enter');
  await reads(tab, oddNames.emoji.slice(-3), 'main');
});
