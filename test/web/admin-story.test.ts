/**
 * The things that an administrator and an owner do with the pages beside a git server, from a limit to a push
 * that passes again.
 */

import { rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { account, addressOf, tokenOf } from '../e2e/accounts.ts';
import { until } from '../e2e/ask.ts';
import { Clone } from '../e2e/clone.ts';
import { Server } from '../e2e/server.ts';
import { field, isLoaded, lookAt, reads, readsNoMore, Web } from './world.ts';

t.setTimeout(600_000);

const server = await Server.open(t, {
  repositories: ['alice/site', 'alice/videos'],
  ini: { 'quota.default': { TOTAL: '-1' } },
});
const url = new URL(await addressOf(server));
const site = await Clone.of({ folder: server.folder }, server.path('alice/site'));
const videos = await Clone.of({ folder: server.folder }, server.path('alice/videos'));
await site.commit(300_000);
await videos.commit(1_200_000);
await site.push();
await videos.push();
await grow('alice/site', 300_000_000);
await grow('alice/videos', 1_200_000_000);
await server.scan();
await server.usageIs('alice', bytes => bytes > 1_500_000_000);

const web = await Web.open(t);
const token = await account(server, 'root', { isAdmin: true });
const admin = await web.signedIn(url, token, 'owners/alice');
const alice = await web.tab();

/** Has a repository hold a bundle of so many bytes besides; a file with nothing in it takes no room here. */
async function grow(name: string, bytes: number): Promise<void> {
  const file = join(server.path(name), 'all.bundle');
  await writeFile(file, '');
  await truncate(file, bytes);
}

t.test('before, nothing limits alice', async t => {
  await reads(admin, 'allowed', 'main');
  t.notMatch(await admin.read('main'), /refused/);
  t.match(await site.push(['main:before']), { code: 0 });
});

t.test('the administrator creates a group with 1 GB, and sees first whom it would hit', async t => {
  const tab = await web.signedIn(url, token, 'groups');
  await tab.click('main ::-p-text(New group)');
  await tab.fill(field('Name of the group'), 'free');
  await tab.click('::-p-text(Add a new rule)');
  await tab.fill(field('Name of the rule'), 'one-gigabyte');
  await tab.fill(field('Limit'), '1 GB');
  await reads(tab, '1 GB: 1,000,000,000 bytes', 'main');
  await reads(tab, 'Nothing would change for any of 2 owners', '.effect');
  await tab.fill(field('Add an owner'), 'ali');
  await tab.click('ul[aria-label="Owners found"] button');
  await reads(tab, '1 owner would be newly refused', '.effect');
  await reads(tab, 'alice', '.effect');
  t.match(await site.push(['main:still']), { code: 0 }, 'nothing is in force yet');
  await tab.click('::-p-text(Create the group)');
  await reads(tab, 'Group free', 'h1');
  await reads(tab, '1 owner is refused because of this group', 'main');
});

t.test('her next push is refused, and the page that is open shows it by itself', async t => {
  await site.commit(1000);
  const push = await site.push();
  t.equal(push.code, 1);
  t.match(push.said, /Quota exceeded: alice uses 1\.5\d* GB of 1 GB/);
  await lookAt(admin);
  await reads(admin, '✕ refused', 'main');
  await reads(admin, 'one-gigabyte', 'main');
});

t.test('the reasoning tells the administrator which rule of which group decided', async () => {
  await lookAt(admin);
  await admin.click('main td button[aria-expanded]');
  await reads(admin, 'deciding rule', '.effect');
  await reads(admin, 'a limit is exceeded', '.effect');
});

t.test('alice signs in, sees why, and which of her repositories are the largest', async t => {
  await alice.go(new URL('mine', url).href);
  await alice.fill('input[type=password]', await tokenOf(server, 'alice', ['all']));
  await alice.click('main button[type=submit]');
  await reads(alice, 'My usage', 'h1');
  await isLoaded(alice);
  const text = await alice.read('main');
  t.match(text, /Rule “one-gigabyte” of group “free” allows 1 GB for everything together/);
  t.match(text, /1\.5\d* GB are stored/);
  const [videosAt, siteAt] = [text.indexOf('alice/videos'), text.indexOf('alice/site')];
  t.ok(videosAt >= 0 && siteAt > videosAt, 'the largest first');
});

t.test('she deletes the largest branch, and her push passes; the pages show it by themselves', async t => {
  t.match(await site.push(['--delete', 'before', 'still']), { code: 0 });
  t.match(await site.push(), { code: 1 });
  await rm(server.path('alice/videos'), { recursive: true });
  const scans = await web.signedIn(url, token, 'scans');
  await scans.click('main button::-p-text(Start scan)');
  await reads(scans, 'The scan is done', '[aria-live]');
  await server.usageIs('alice', bytes => bytes < 1_000_000_000);
  t.match(await until(async () => site.push()), { code: 0 });
  await lookAt(admin);
  await readsNoMore(admin, '✕ refused', 'main');
  await lookAt(alice);
  await readsNoMore(alice, 'alice/videos', 'main');
});

t.test('the browser complained of nothing in all this', async t => {
  // It asks for an icon of the address that signing in begins at, which has none; who is not signed in yet is
  // told so; and pages give up what they no longer need.
  t.same(
    [...admin.complaints, ...alice.complaints].filter(complaint => !/status of 40[14]/.test(complaint)),
    [],
  );
});
