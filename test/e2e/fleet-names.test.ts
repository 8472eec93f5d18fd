/**
 * Daemons with the same HOST_ID: the one that serves goes on, and the other one tells nothing in its name.
 */

import { Redis } from 'ioredis';
import t from 'tap';
import { startSingle } from '../store/redis-servers.ts';
import { until } from './ask.ts';
import { fleetHost, mayPush } from './fleet-hosts.ts';
import { Passage } from './passage.ts';

t.setTimeout(240_000);

const has = /HOST_ID = one: another running daemon uses this HOST_ID/;

t.test(
  'after a FLUSHALL a daemon with the name of a living one does not start, and that one goes on',
  async t => {
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
  },
);

t.test(
  'of two that serve the one that began first has the name, and the other one says so until it is free',
  async t => {
    const { address, servers } = await startSingle(t);
    const one = await fleetHost(t, { address, host: 'one', repositories: ['alice/app'] });
    const two = await fleetHost(t, { address, host: 'two' });
    const bytes = await one.usageIs('alice', size => size > 0);
    const passage = await Passage.to(t, servers[0].port);
    passage.become({ does: 'swallows' });
    const twin = await fleetHost(t, {
      address: `redis://127.0.0.1:${passage.port}/0`,
      host: 'one',
      started: false,
      repositories: ['bob/app'],
    });
    // While the store is away nobody can tell whose the name is.
    await twin.start({ ready: false });
    passage.become({ does: 'passes' });
    await until(
      async () => (has.test(await twin.reasons()) ? true : null),
      () => twin.daemon.log,
    );
    t.match(await twin.daemon.logged(/HOST_ID = one/), { level: 50 });
    t.match(await twin.softquota(['doctor', '--json']), { stdout: /host_id_taken/ });
    t.ok(await mayPush(twin, 'bob'), 'it answers');
    await twin.usageIs('bob', size => size > 0);
    await twin.usageIs('alice', size => size === 0);
    t.equal(await two.usage('bob'), 0, 'and tells nothing');
    t.equal(await two.usage('alice'), bytes);
    t.notMatch(await one.reasons(), has);
    await one.stop();
    await twin.ready();
    const size = await twin.usage('bob');
    await two.usageIs('bob', told => told === size);
    await two.usageIs('alice', told => told === 0);
  },
);
