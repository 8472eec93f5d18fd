/** The page of the hosts that share the quota, on two of them over a real Redis. */

import t from 'tap';
import { fleetHost } from '../e2e/fleet-hosts.ts';
import { startSingle } from '../store/redis-servers.ts';
import { barriersInAnyLook, isLoaded, reads, Web } from './world.ts';

t.setTimeout(600_000);

const web = await Web.open(t);

t.test(
  'hosts that share the quota are listed, one that is gone too, and nothing keeps anybody out',
  async t => {
    const { address } = await startSingle(t);
    const one = await fleetHost(t, { address, host: 'git-one' });
    const two = await fleetHost(t, { address, host: 'git-two' });
    const made = await one.softquota(['token', 'create', '--user', 'root', '--admin']);
    const url = new URL(String((await one.daemon.logged(/^softquota answers/)).http));
    const tab = await web.signedIn(url, made.stdout.trim(), 'hosts');
    await reads(tab, 'git-two', 'main');
    await two.stop('SIGKILL');
    await isLoaded(tab);
    t.match(await tab.read('main'), /git-one[\s\S]*git-two/);
    t.same(await barriersInAnyLook(tab), []);
  },
);
