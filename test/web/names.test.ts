/** Names that strangers chose, on every page of the administrators. */

import t from 'tap';
import { z } from 'zod';
import { printable } from '../../src/text/index.ts';
import { administratorsPages, odd, oddNames, realm } from './realm.ts';
import { isLoaded, lookAs, reads, Web } from './world.ts';

t.setTimeout(600_000);

const world = await realm(t);
const web = await Web.open(t);
const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']));

t.test('a name with script, quotes, reading direction or emoji is only text, wherever it stands', async t => {
  for (const path of administratorsPages(odd)) {
    await tab.go(new URL(path, world.url).href);
    await isLoaded(tab);
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

t.test('a name that turns the reading direction is shown with the mark spelled out', async t => {
  await tab.go(new URL('owners', world.url).href);
  await reads(tab, 'x\\u{202e}gnp.exe');
  t.ok(printable(oddNames.override).includes('\\u{202e}'));
});

t.test('on a phone an ordinary name breaks between its words, never inside one', async t => {
  const names = ['administrators', 'companies', 'one-gigabyte'];
  for (const name of ['administrators', 'companies']) {
    const rules = [{ name: 'one-gigabyte' }];
    await world.must(201, 'POST', '/admin/quota/groups', { body: { name, rules } });
  }
  await lookAs(tab, { scheme: 'light', width: 360 });
  for (const path of ['groups', 'rules']) {
    await tab.go(new URL(path, world.url).href);
    await isLoaded(tab);
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
