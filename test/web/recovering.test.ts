/** Pages that are open while the daemon goes away, or the session ends. */

import t from 'tap';
import { endSessions } from '../api/people.ts';
import { World } from '../api/world.ts';
import { freePort } from '../e2e/transports.ts';
import { isLoaded, reads, readsNoMore, Web } from './world.ts';

t.setTimeout(600_000);

const world = await World.open(t, { settings: { server: { HTTP_PORT: String(await freePort()) } } });
await world.report('alice', 'size:git:lfs', 1_000_000);
const web = await Web.open(t);

t.test('while the daemon is away a page says since when, and goes on by itself once it is back', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'owners');
  const { url } = world;
  await reads(tab, '1 MB', 'main');
  await world.close();
  await reads(tab, 'has not answered since', '.banner');
  t.match(await tab.read('main'), /1 MB/, 'the figures stay');
  await world.start();
  t.equal(world.url.href, url.href);
  await readsNoMore(tab, 'has not answered since');
  await world.report('alice', 'size:git:lfs', 2_000_000);
  await reads(tab, '2 MB', 'main');
  await reads(tab, 'The daemon answers again.', '[aria-live]');
});

t.test(
  'a page that is opened while the daemon goes away shows its figures as soon as it is back',
  async t => {
    const tab = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'groups');
    await isLoaded(tab);
    await world.close();
    await tab.click('nav ::-p-text(Owners)');
    await reads(tab, 'Cannot show the owners', 'main');
    await world.start();
    await reads(tab, '2 MB', 'main');
    t.notMatch(await tab.read('main'), /Cannot show/);
  },
);

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
