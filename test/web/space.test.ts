/**
 * In Chromium: a refused user opens the page from the link of the refusal, deletes what the page says, and
 * sees the figure fall; an administrator collects garbage.
 */

import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { account, addressOf, tokenOf } from '../e2e/accounts.ts';
import { until } from '../e2e/ask.ts';

import { must, run } from '../e2e/run.ts';
import { Server } from '../e2e/server.ts';
import { withWorker } from '../e2e/with-worker.ts';
import { barriers, barriersInAnyLook, isLoaded, lookAt, reads, readsNoMore, Web } from './world.ts';

t.setTimeout(600_000);

const server = await Server.open(t, {
  repositories: ['alice/site', 'bob/notes'],
  ini: { 'quota.default': { TOTAL: '8M' }, server: { ROOT_URL: 'https://quota.example/' } },
});
const url = new URL(await addressOf(server));
const web = await Web.open(t);
const clone = join(server.folder, 'clone');
const git = (...args: readonly string[]) => must('git', args, { cwd: clone });
const commit = async (name: string, bytes: number): Promise<void> => {
  await writeFile(join(clone, name), randomBytes(bytes));
  await git('add', '--all');
  await git('commit', '-q', '-m', name);
};
await must('git', ['init', '-q', '-b', 'main', clone]);
await git('remote', 'add', 'origin', server.path('alice/site'));
await commit('index.html', 3000);
await commit('photo.raw', 2_000_000);
await commit('<b>odd\u202e\u001b[31m', 1_000_000);
await git('push', '-q', 'origin', 'main');
await git('checkout', '-q', '-b', 'trailer');
await commit('trailer.mov', 4_000_000);
await commit('music.wav', 1_500_000);
await git('push', '-q', 'origin', 'trailer');
await git('checkout', '-q', '-b', 'next', 'main');
await commit('one-more', 1000);
await server.usageIs('alice', bytes => bytes > 8_000_000);

const push = () => run('git', ['push', 'origin', 'next'], { cwd: clone });
const aliceToken = await tokenOf(server, 'alice', ['all']);

t.test('without a worker the page says so', async t => {
  const tab = await web.signedIn(url, aliceToken, 'space/alice?repo=site');
  await reads(tab, 'The server cannot look into repositories at the moment', 'main');
  t.same(await barriers(tab), []);
});

t.test('from the refusal to the page, from the page to a smaller repository', async t => {
  await withWorker(t, server, { run: 'measure' });
  const link = await until(
    async () => / (https:\/\/quota\.example\/space\S+)/.exec((await push()).stderr)?.[1] ?? null,
    () => 'the refusal has no link',
  );
  const address = new URL(link);
  const tab = await web.signedIn(url, aliceToken, `${address.pathname.slice(1)}${address.search}`);
  await reads(tab, 'trailer.mov', 'main');
  // Chromium looks for an icon of the page at which one signs in here.
  const before = tab.complaints.length;
  const names = await tab.page.$$eval('.takers', ([files]) =>
    [...(files?.querySelectorAll('code') ?? [])].slice(0, 3).map(code => code.textContent),
  );
  t.same(names, ['trailer.mov', 'photo.raw', 'music.wav']);
  const text = await tab.read('main');
  t.match(text, /Reachable\s+8\.5\d* MB/);
  t.match(text, /refs\/heads\/trailer\s+frees 5\.5 MB/);
  t.match(text, /<b>odd\\u\{202e\}\\u\{1b\}\[31m/);
  t.notMatch(text, /Reclaim now/);
  t.same(await barriersInAnyLook(tab), []);
  // The page's advice is typed as it stands, opened by the keyboard.
  await tab.page.focus('::-p-xpath(//summary[contains(., "How to delete it")])');
  await tab.page.keyboard.press('Enter');
  const line = await tab.page.$eval('details[open] pre', pre => pre.textContent);
  t.equal(line, 'git push origin --delete refs/heads/trailer');
  await must('sh', ['-c', line ?? 'false'], { cwd: clone });
  await lookAt(tab);
  await reads(tab, '3 MB', '.facts dd:nth-of-type(2)');
  await reads(tab, '5.5 MB', '.facts dd:nth-of-type(3)');
  await readsNoMore(tab, 'trailer.mov', 'main');
  await tab.click('main ::-p-text(Measure again)');
  await reads(tab, '3 MB', '.facts dd:nth-of-type(2)');
  t.same(tab.complaints.slice(before), []);
});

t.test('owners see their own repositories and no others; administrators all, and collect', async t => {
  await withWorker(t, server, { run: 'measure' });
  const bob = await web.signedIn(url, await tokenOf(server, 'bob', ['all']), 'space/alice?repo=site');
  await reads(bob, 'For administrators only', 'main');
  await bob.go(new URL('mine', url).href);
  await bob.click('main ::-p-text(Inside the repositories)');
  await reads(bob, 'bob/notes.git', 'main');
  await bob.click('main tbody a');
  await reads(bob, 'There is nothing to free: the repository is empty.', 'main');
  t.same(await barriers(bob), []);

  const office = await web.signedIn(url, await account(server, 'root', { isAdmin: true }), 'owners/alice');
  await office.click('main ::-p-text(What takes the space)');
  await office.click('main tbody a');
  await reads(office, 'photo.raw', 'main');
  await office.click('main ::-p-text(Reclaim now)');
  await reads(office, 'became unreachable recently, and stay', 'main');
  t.same(await barriers(office), []);
  await writeFile(join(server.path('alice/site'), 'refs/heads/broken'), `${'1'.repeat(40)}\n`);
  await office.click('main ::-p-text(Reclaim now)');
  await reads(office, 'The collection failed: git rev-list', 'main');
  await office.click('main ::-p-text(Measure again)');
  await reads(office, 'The repository could not be measured: git', 'main');
  await isLoaded(office);
  t.same(await barriers(office), []);
  t.same(office.complaints, []);
});
