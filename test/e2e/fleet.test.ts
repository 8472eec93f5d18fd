/**
 * Several hosts with one quota: what is stored on them adds up, what one rules the others do, and who is
 * who.
 */

import t from 'tap';
import { startSingle } from '../store/redis-servers.ts';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { fleetHost, mayPush, mayPushIs } from './fleet-hosts.ts';
import { Passage } from './passage.ts';

t.test('pushes on three hosts add up, and what is ruled on one is in force on the others', async t => {
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
  lags.sort((a, b) => a - b);
  t.ok(Math.max(...lags) < 2000, `the slowest of ${lags.length}: ${lags.at(-1)?.toFixed(0)} ms`);
  t.comment(`lag of a change: median ${lags[lags.length / 2]?.toFixed(0)} ms`);
});

t.test('a second daemon with a taken name is refused, and the same one is back at once', async t => {
  const { address } = await startSingle(t);
  const one = await fleetHost(t, { address, host: 'one', repositories: ['alice/app'] });
  const twin = await fleetHost(t, { address, host: 'one', started: false });
  const begun = performance.now();
  const { code, log } = await twin.startInVain();
  t.equal(code, 78);
  t.match(log, /HOST_ID = one: another running daemon uses this HOST_ID/);
  t.ok(performance.now() - begun < 5000, 'it waits for nothing');
  await one.stop('SIGKILL');
  await one.start();
  t.ok((await one.usage('alice')) > 0, 'after a kill its own name is free for it');
});

t.test('a host that is gone counts until it is forgotten, and one that runs cannot be', async t => {
  const { address } = await startSingle(t);
  const one = await fleetHost(t, { address, host: 'one', repositories: ['alice/app'] });
  const two = await fleetHost(t, { address, host: 'two', repositories: ['alice/app'] });
  await one.usageIs('alice', bytes => bytes > 40_000);
  t.match(await one.softquota(['host', 'forget', 'two']), { code: 1, stderr: /two/ });
  t.match(await one.softquota(['host', 'forget', 'one']), { code: 1, stderr: /the host that you ask/ });
  t.match(await one.softquota(['host', 'forget', 'three']), { code: 1, stderr: /three/ });
  t.match(await one.softquota('host forget ..'), { code: 2, stderr: /cannot be a name/ });
  await two.stop();
  const { stdout } = await one.softquota(['host', 'list']);
  t.match(stdout, /^one +running +1 /m);
  t.match(stdout, /^two +silent for .* s +1 /m);
  t.ok((await one.usage('alice')) > 40_000, 'it still counts');
  t.match(await one.softquota(['host', 'forget', 'two']), { code: 0, stdout: 'Forgot two.\n' });
  await one.usageIs('alice', bytes => bytes < 40_000);
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
