/**
 * Several hosts with one quota: what is stored on them adds up, what one rules the others do, and who is
 * who. With PRECISE an owner pushes to all of them at once (docs/precise.md has the figures): to two hosts in
 * the ordinary run, and to three in the long one.
 */

import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { isLong } from '../run-length.ts';
import { startSingle } from '../store/redis-servers.ts';
import { until } from './ask.ts';
import { manyCommits } from './at-once.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { fleetHost, mayPush, mayPushIs } from './fleet-hosts.ts';
import { Passage } from './passage.ts';
import type { Server } from './server.ts';

t.setTimeout(300_000);

t.test('three hosts add up, rules are in force on all, and one counts until it is forgotten', async t => {
  const { address } = await startSingle(t);
  const servers = [
    await fleetHost(t, { address, host: 'one', repositories: ['alice/app'] }),
    await fleetHost(t, { address, host: 'two', repositories: ['alice/app'] }),
    await fleetHost(t, { address, host: 'three', repositories: ['alice/app'] }),
  ] as const;
  const [one, two, three] = servers;
  const clones = await Promise.all(servers.map(server => Clone.of(server, server.path('alice/app'))));
  for (const clone of clones) {
    await clone.commit(400_000);
    const { code, said } = await clone.push();
    t.equal(code, 0, said);
  }
  for (const server of servers) await server.usageIs('alice', bytes => bytes > 1_200_000);
  for (const clone of clones) {
    await clone.commit(10);
    t.match(await clone.push(), { code: 1, said: /alice uses 1\.[2-9]\d? MB of 1 MB/ }, 'on each of them');
  }
  const units = (await three.admin('/admin/quota/usage/alice')) as {
    units: readonly { host: string; bytes: number }[];
  };
  t.strictSame(units.units.map(({ host }) => host).sort(), ['one', 'three', 'two']);

  await two.admin('/admin/quota/groups', {
    body: { name: 'large', rules: [{ name: 'large', limit: -1, subjects: ['size:all'] }] },
  });
  await two.admin('/admin/quota/groups/large/users/alice', { method: 'PUT' });
  for (const server of servers) await mayPushIs(server, 'alice', true);
  t.match(await clones[0]?.push(), { code: 0 });

  const lags: number[] = [];
  for (let round = 0; round < 10; round += 1) {
    const limit = round % 2 === 0 ? 0 : -1;
    const on = servers[round % 3] ?? one;
    await on.admin('/admin/quota/rules/large', { method: 'PATCH', body: { limit } });
    const others = servers.filter(server => server !== on);
    lags.push(...(await Promise.all(others.map(server => mayPushIs(server, 'alice', limit === -1)))));
  }
  const slowest = Math.max(...lags);
  t.ok(slowest < 2000, `the slowest of ${lags.length}: ${slowest.toFixed(0)} ms`);

  for (const [line, code, stderr] of [
    ['host forget two', 1, /two/],
    ['host forget one', 1, /the host that you ask/],
    ['host forget four', 1, /four/],
    ['host forget ..', 2, /cannot be a name/],
  ] as const)
    t.match(await one.softquota(line), { code, stderr });
  await three.stop();
  const { stdout } = await one.softquota('host list');
  t.match(stdout, /^one +running +1 /m);
  t.match(stdout, /^three +silent for .* s +1 /m);
  t.ok((await one.usage('alice')) > 1_200_000, 'what is on a host that is gone still counts');
  t.match(await one.softquota('host forget three'), { code: 0, stdout: 'Forgot three.\n' });
  await one.usageIs('alice', bytes => bytes < 1_200_000);
});

const has = /HOST_ID = one: another running daemon uses this HOST_ID/;

t.test('of two that serve the first has the name, and the other says so until it is free', async t => {
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
});

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

const hosts = ['one', 'two', ...(isLong ? ['three'] : [])];
const limitBytes = 3_000_000;
const pushes = isLong ? 10 : 5;

interface Fleet {
  readonly servers: readonly Server[];
  readonly redis: Awaited<ReturnType<typeof startSingle>>['servers'][0];
  /** Pushes to all hosts at once; gives what is stored, in percent of the limit. */
  push(): Promise<number>;
}

async function open(t: Test): Promise<Fleet> {
  const { address, servers: redis } = await startSingle(t);
  const ini = { 'quota.default': { TOTAL: String(limitBytes) }, quota: { PRECISE: 'true' } };
  const servers = await Promise.all(hosts.map(host => fleetHost(t, { address, host, ini })));
  const crowds = await Promise.all(
    servers.map(async server => {
      const bare = await server.repository('alice/app');
      await server.installHooks();
      await server.scan();
      const clone = await Clone.of(server, bare);
      return { bare, clone, branches: await manyCommits(clone, pushes, 400_000) };
    }),
  );
  return {
    servers,
    redis: redis[0],
    push: async () => {
      await Promise.all(
        crowds.flatMap(({ clone, branches }) => branches.map(branch => clone.push([branch]))),
      );
      const bytes = await Promise.all(crowds.map(({ bare }) => counted(bare)));
      return Math.round((100 * bytes.reduce((sum, each) => sum + each, 0)) / limitBytes);
    },
  };
}

t.test('what is pushed to all hosts in one second passes the limit as often as there are hosts', async t => {
  const { push } = await open(t);
  const percent = await push();
  t.comment(`${percent} %`);
  t.ok(percent > 75 && percent <= 100 * hosts.length, `${percent} %`);
});

t.test('while Redis is away, all hosts together let no more in than one', async t => {
  const { servers, redis, push } = await open(t);
  await redis.end();
  for (const server of servers)
    await until(async () => (/shared store/.test(await server.reasons()) ? true : null));
  const percent = await push();
  t.ok(percent > 40 && percent <= 100, `${percent} %`);
});
