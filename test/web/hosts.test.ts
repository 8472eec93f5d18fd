/** Pages of hosts that share the quota over a real Redis: all of them listed, and Redis away for a while. */

import t from 'tap';
import { account, addressOf } from '../e2e/accounts.ts';
import { fleetHost } from '../e2e/fleet-hosts.ts';
import { startSingle } from '../store/redis-servers.ts';
import { barriersInAnyLook, isLoaded, reads, readsNoMore, Web } from './world.ts';

t.setTimeout(600_000);

const web = await Web.open(t);
const { address, servers } = await startSingle(t);
const [redis] = servers;
const one = await fleetHost(t, { address, host: 'git-one' });
const two = await fleetHost(t, { address, host: 'git-two' });
const token = await account(one, 'root', { isAdmin: true });
const url = new URL(await addressOf(one));

t.test('hosts that share the quota are listed, also one that is gone, without a barrier', async t => {
  const tab = await web.signedIn(url, token, 'hosts');
  await reads(tab, 'git-two', 'main');
  await two.stop('SIGKILL');
  await isLoaded(tab);
  t.match(await tab.read('main'), /git-one[\s\S]*git-two/);
  t.same(await barriersInAnyLook(tab), []);
});

t.test('while the store is away pages say so, keep their figures, change nothing, and recover', async t => {
  const tab = await web.signedIn(url, token, 'rules');
  await reads(tab, 'No rules yet', 'main');

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
