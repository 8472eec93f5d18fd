/** Pages that are open while the store that hosts share is away. */

import t from 'tap';
import { fleetHost } from '../e2e/fleet-hosts.ts';
import { startSingle } from '../store/redis-servers.ts';
import { isLoaded, reads, readsNoMore, Web } from './world.ts';

t.setTimeout(600_000);

const web = await Web.open(t);

t.test('while the store is away pages say so, keep their figures, change nothing, and recover', async t => {
  const { address, servers } = await startSingle(t);
  const [redis] = servers;
  const server = await fleetHost(t, { address, host: 'one' });
  const made = await server.softquota(['token', 'create', '--user', 'root', '--admin']);
  const url = new URL(String((await server.daemon.logged(/^softquota answers/)).http));
  const tab = await web.signedIn(url, made.stdout.trim(), 'rules');
  await reads(tab, 'No rules yet.', 'main');

  redis.halt();
  await reads(tab, 'The store has not been writable since', '.banner');
  await tab.click('main ::-p-text(New rule)');
  await tab.fill('::-p-aria(Name of the rule)', 'ten');
  await tab.fill('::-p-aria(Limit)', '10 GB');
  await tab.page.waitForSelector('main form button[type=submit]:not(:disabled)');
  await tab.click('main form button[type=submit]');
  await reads(tab, 'cannot be used at the moment', 'main form');
  t.match(await tab.read('.banner'), /Pushes and uploads are still decided/);

  redis.go();
  await readsNoMore(tab, 'The store has not been writable');
  await reads(tab, 'The store can be written again.', '[aria-live]');
  await tab.page.waitForSelector('main form button[type=submit]:not(:disabled)');
  await tab.click('main form button[type=submit]');
  await reads(tab, 'Rule ten', 'h1');
  await isLoaded(tab);
  t.match(await tab.read('main'), /10 GB/);
});
