/** Tools of administrators for many owners at once: lists with filters, CSV, undo, tokens, help. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { z } from 'zod';
import { anySession, anyToken, ownerRow } from '../../src/wire/index.ts';
import { measure } from '../api/people.ts';
import { World } from '../api/world.ts';
import type { Tab } from '../e2e/browser.ts';
import { choose, field, isLoaded, reads, readsNoMore, Web, wordsOf } from './world.ts';

t.setTimeout(900_000);

const world = await World.open(t, {
  settings: { 'storage.lfs': { PATH: 'lfs/{repo}', OWNER: 'file OWNER' } },
});
for (const [owner, lfs, packages] of [
  ['lena', 120e6, 1e6],
  ['nora', 85e6, 2e6],
  ['olga', 10e6, 3e6],
] as const) {
  await world.report(owner, 'size:git:lfs', lfs, `${owner}-lfs`);
  await world.report(owner, 'size:assets:packages:all', packages, `${owner}-packages`);
}
await world.post('/admin/quota/groups', {
  name: 'team',
  rules: [
    { name: 'all', limit: 1e9, subjects: ['size:all'] },
    { name: 'lfs', limit: 100e6, subjects: ['size:git:lfs'] },
  ],
});
await world.post('/admin/quota/groups', { name: 'roomy', rules: [] });
for (const owner of ['lena', 'nora', 'olga']) {
  await world.must(204, 'PUT', `/admin/quota/groups/team/users/${owner}`);
}
const web = await Web.open(t);
const token = await world.newToken('admin1', ['all']);
const at = (path: string) => web.signedIn(world.url, token, path);

const namesIn = (tab: Tab) => wordsOf(tab, 'main tbody tr > :first-child a');

t.test('the numbers of the overview lead to the list of those very owners, with the same state', async t => {
  const tab = await at('./');
  await tab.click('main a::-p-text(1 over the limit)');
  await reads(tab, 'Owners', 'h1');
  await reads(tab, '1 owner', '.pager');
  t.same(await namesIn(tab), ['lena']);
  t.match(await tab.read('tbody'), /over the limit\s+LFS objects\s+120 %/);
  const isFull = await tab.page.$eval('.fullness > span', bar => bar.style.inlineSize);
  t.equal(isFull, '100%', 'the bar is full at the limit');
  await tab.click('tbody a');
  await reads(tab, 'lena', 'h1');
  await reads(tab, 'over the limit', 'main');
  t.match(await tab.read('main'), /LFS objects: 120 MB of 100 MB/);
  await tab.go(new URL('./', world.url).href);
  await tab.click('main a::-p-text(1 near the limit)');
  await reads(tab, '1 owner', '.pager');
  t.same(await namesIn(tab), ['nora']);
});

t.test('owners are filtered by state, group and type; the address and the CSV have the filters', async t => {
  const tab = await at('owners');
  await isLoaded(tab);
  await choose(tab, 'Group', 'team');
  await reads(tab, '3 owners', '.pager');
  await choose(tab, 'State', 'over,grace,near');
  await reads(tab, '2 owners', '.pager');
  t.match(tab.page.url(), /group=team/);
  const { text } = await csv(tab, 'Download CSV');
  t.match(text, /^owner,type,state,.*\r\nlena,user,over,.*\r\nnora,user,near,.*\r\n$/);
  await tab.click('main ::-p-text(Show all owners)');
  await choose(tab, 'Type', 'organization');
  await reads(tab, '1 owner', '.pager');
  t.same(await namesIn(tab), ['acme']);
});

/** Downloads the file that the link with this text has the browser save. */
async function csv(tab: Tab, words: string): Promise<{ readonly name: string; readonly text: string }> {
  const link = z.object({ name: z.string(), href: z.string() }).parse(
    await tab.page.$$eval(
      'main a[download]',
      (links, wanted) => {
        const found = links.find(each => each.innerText === wanted);
        return { name: found?.getAttribute('download'), href: found?.href };
      },
      words,
    ),
  );
  const text = await tab.page.evaluate(`fetch(${JSON.stringify(link.href)}).then(answer => answer.text())`);
  return { name: link.name, text: String(text) };
}

t.test('several owners are put into a group at once, and the effect is shown before', async t => {
  const tab = await at('owners?sort=name');
  for (const name of ['lena', 'olga']) await tab.click(field(`Choose ${name}`));
  await reads(tab, '2 owners chosen', 'main');
  await tab.click('main ::-p-text(Change a group)');
  await choose(tab, 'Action', 'remove');
  const groups = await tab.page.waitForSelector('[aria-label="Chosen owners"] .field:last-child select');
  await groups?.select('team');
  await reads(tab, '1 owner would be newly allowed', '.effect');
  await tab.click('main ::-p-text(Remove the owners)');
  await readsNoMore(tab, '2 owners chosen', 'main');
  const json = await world.get('/admin/quota/usage?group=team');
  t.same(
    z
      .array(ownerRow)
      .parse(json)
      .map(({ name }) => name),
    ['nora'],
  );
});

t.test('events are found by who did it, by text and by day, and come as CSV', async t => {
  const tab = await at('events');
  await tab.fill(field('Done by'), 'admin1');
  await tab.fill(field('Text'), 'roomy');
  await tab.click('main form ::-p-text(Search)');
  await reads(tab, 'group roomy', 'main tbody');
  t.equal((await tab.page.$$('main tbody tr')).length, 1);
  t.match(tab.page.url(), /actor=admin1&q=roomy/);
  const { name, text } = await csv(tab, 'Download CSV');
  t.equal(name, 'events.csv');
  t.match(text, /^at,.*\r\n[^\r]*,policy,created,,admin1,group,roomy,[^\r]*\r\n$/);
  await tab.go(new URL('events?since=2020-01-01&until=2020-01-02', world.url).href);
  await reads(tab, 'No such events.', 'main');
});

t.test('a link to all of a list that was searched empties the search', async t => {
  const tab = await at('owners');
  await tab.fill(field('Search by name'), 'nora');
  await tab.page.waitForFunction('location.search === "?q=nora"');
  await tab.click('nav a[href$="owners"]');
  await tab.page.waitForFunction('location.search === ""');
  await tab.page.waitForFunction('document.querySelector("main input[type=search]").value === ""');
  await reads(tab, 'olga', 'main tbody');
  t.equal(new URL(tab.page.url()).search, '', 'it does not come back');

  await tab.go(new URL('events?kind=policy&owner=nora', world.url).href);
  t.equal(await tab.page.$eval(field('Owner'), input => input.value), 'nora');
  await tab.click('nav a[href$="events"]');
  await tab.page.waitForFunction('location.search === ""');
  t.equal(await tab.page.$eval(field('Owner'), input => input.value), '');
  await tab.fill(field('Owner'), 'nora');
  await choose(tab, 'Kind', 'policy');
  await tab.page.waitForFunction('location.search === "?kind=policy"');
  t.equal(await tab.page.$eval(field('Owner'), input => input.value), 'nora', 'what was typed stays');
});

t.test('times have the day and the zone', async t => {
  const tab = await at('events');
  await isLoaded(tab);
  const times = await wordsOf(tab, 'main time');
  t.ok(times.length > 3);
  for (const time of times) t.match(time, /\d{4}.*\d{1,2}:\d\d.*(UTC|GMT|[A-Z]{3,4})/);
});

t.test('all tokens and sessions are on one page, where administrators end them; the focus stays', async t => {
  await world.newToken('bob', ['read:user']);
  const other = await web.signedIn(world.url, await world.newToken('carol', ['all']), 'mine');
  const tab = await at('tokens');
  await reads(tab, 'carol', '[aria-label="Sessions of all users"]');
  await tab.fill(field('User'), 'bob');
  await readsNoMore(tab, 'carol', 'main');
  const tokens = async () => z.array(anyToken).parse(await world.get('/admin/tokens?q=bob'));
  const before = (await tokens()).length;
  await tab.click('[aria-label="Tokens of all users"] tbody tr:first-child button');
  t.equal(await tab.page.evaluate('document.activeElement.innerText'), 'Cancel', 'the dialog has the focus');
  await tab.click('dialog button[type=submit]');
  await reads(tab, `${before - 1} token`, 'main .pager');
  t.equal((await tokens()).length, before - 1);
  await tab.page.waitForFunction('document.activeElement !== document.body');
  await tab.fill(field('User'), 'carol');
  await reads(tab, '1 session', 'main');
  await tab.click('[aria-label="Sessions of all users"] tbody button');
  await tab.click('dialog button[type=submit]');
  await reads(tab, 'No user with this text in the name is signed in.', 'main');
  const sessions = await world.must(200, 'GET', '/admin/sessions?q=carol');
  t.same(z.array(anySession).parse(sessions.json), []);
  await other.go(new URL('mine', world.url).href);
  await reads(other, 'Sign in', 'h1');
});

t.test('the largest repositories of all owners, and other data, lead to their owners', async t => {
  const tab = await at('repositories?subject=size:all');
  await reads(tab, '6 entries', 'main');
  const first = await tab.page.$eval('main tbody tr', row => row.innerText);
  t.match(first, /lena-lfs\s+lena\s+120 MB\s+LFS objects/);
  await choose(tab, 'Kind of data', 'size:assets:packages:all');
  await reads(tab, '3 entries', 'main');
  await tab.click('main tbody tr a');
  await reads(tab, 'olga', 'h1');
});

t.test('each page leads to its help, which names only commands that there are', async t => {
  const manual = await readFile(new URL('../../docs/commands.md', import.meta.url), 'utf8');
  const tab = await at('events');
  await tab.click('main a::-p-text(Help)');
  await reads(tab, 'Help', 'h1');
  t.match(tab.page.url(), /help#events$/);
  const commands = await wordsOf(tab, 'main code');
  t.ok(commands.length > 20);
  for (const command of commands) {
    const words = command
      .split(' ')
      .filter((word: string) => /^[a-z-]+$/.test(word) && !word.startsWith('-'));
    t.ok(
      manual.includes(`## ${words.slice(0, 3).join(' ')}`) ||
        manual.includes(`## ${words.slice(0, 2).join(' ')}`),
      command,
    );
  }
  const pages = ['./', 'owners', 'owners/lena', 'groups', 'rules', 'policy', 'requests', 'scans', 'notices'];
  for (const page of [...pages, 'hosts', 'tokens', 'admin/auths', 'mine', 'mine/tokens', 'repositories']) {
    await tab.go(new URL(page, world.url).href);
    await isLoaded(tab);
    const [, id = ''] = String(await tab.page.$eval('.page-head a[href*="help#"]', link => link.href)).split(
      '#',
    );
    await tab.go(new URL(`help#${id}`, world.url).href);
    await isLoaded(tab);
    t.ok(await tab.page.$(`#${id}`), `${page}: ${id}`);
  }
  const stranger = await web.tab();
  await stranger.go(new URL('help#mine', world.url).href);
  await reads(stranger, 'A refused push says from when on deleted commits do not count', 'main');
  t.notMatch(await stranger.read('main'), /softquota doctor/, 'others read what is for them');
});

t.test('an address without a page is a page that says so, with the ways to the others', async t => {
  const tab = await at('nowhere/at/all');
  await reads(tab, 'Page not found', 'h1');
  t.match(await tab.read('nav'), /Owners/);
  const status = await tab.page.evaluate(
    "fetch('nowhere', { headers: { Accept: 'text/html' } }).then(answer => answer.status)",
  );
  t.equal(status, 404);
});

t.test('what has no owner is on the overview', async t => {
  const place = join(world.directory, 'lfs/one');
  await mkdir(place, { recursive: true });
  await writeFile(join(place, 'object'), Buffer.alloc(700));
  await measure(world);
  const tab = await at('./');
  await reads(tab, 'Belongs to nobody', 'main');
  t.match(await tab.read('main'), /700 B.*without an owner/s);
  t.match(await tab.read('main'), /700 B: directories without a known owner \(1\)/);
  t.match(await tab.read('main'), /correct \[storage\.\*\] OWNER/);
});
