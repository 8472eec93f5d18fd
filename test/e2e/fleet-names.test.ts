/** A store that is emptied in front of a daemon with the name of a living one. */

import { Redis } from 'ioredis';
import t from 'tap';
import { startSingle } from '../store/redis-servers.ts';
import { fleetHost, mayPush } from './fleet-hosts.ts';

const has = /HOST_ID = one: another running daemon uses this HOST_ID/;

t.test('after a FLUSHALL a daemon with the name of a living one does not start', async t => {
  const { address } = await startSingle(t);
  const one = await fleetHost(t, { address, host: 'one', repositories: ['alice/app'] });
  const two = await fleetHost(t, { address, host: 'two' });
  const bytes = await one.usageIs('alice', size => size > 0);
  await two.usageIs('alice', size => size === bytes);
  const twin = await fleetHost(t, { address, host: 'one', started: false, repositories: ['alice/twin'] });
  const admin = new Redis(address);
  // Every command that Redis is given is seen by MONITOR.
  await admin.ping();
  const monitor = await admin.monitor();
  t.teardown(() => {
    admin.disconnect();
    monitor.disconnect();
  });
  // A newcomer looks at the policy first: the store is emptied in front of it, before the living one
  // looks again.
  const emptied = () =>
    new Promise<void>(resolve => {
      const look = (_: string, [name = '', key = '']: string[]) => {
        if (!/^type$/i.test(name) || !key.endsWith(':policy')) return;
        monitor.off('monitor', look);
        resolve(admin.flushall().then(() => {}));
      };
      monitor.on('monitor', look);
    });
  for (let round = 0; round < 3; round += 1) {
    const [, { code, log }] = await Promise.all([emptied(), twin.startInVain()]);
    t.equal(code, 78);
    t.match(log, has);
    t.ok(await mayPush(one, 'alice'), 'the living one answers');
  }
  await one.ready();
  await two.usageIs('alice', size => size === bytes);
});
