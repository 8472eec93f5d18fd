/** Log lines about how the server of a shared store is set up, with real servers. */

import t from 'tap';
import { AdviceWatch } from '../../src/fleet/advice-watch.ts';
import { openRedisStore } from '../../src/store/index.ts';
import { until } from '../e2e/ask.ts';
import { fleetHost } from '../e2e/fleet-hosts.ts';
import { startSingle } from '../store/redis-servers.ts';

const careless = ['--appendonly', 'no', '--maxmemory', '200mb', '--maxmemory-policy', 'allkeys-lru'];

t.test('a daemon warns at its start, with the line of redis.conf, and doctor says the same', async t => {
  const { address } = await startSingle(t, ...careless);
  const server = await fleetHost(t, { address, host: 'one' });
  const mends = ['appendonly yes', 'maxmemory-policy noeviction'];
  for (const mend of mends) {
    const line = await server.daemon.logged(told => told.mend === mend);
    t.equal(line.level, 40);
    t.match(line.msg, new RegExp(`^Redis at 127\\.0\\.0\\.1:\\d+ .*To mend it: ${mend}$`));
  }
  const { stdout } = await server.softquota(['doctor', '--json']);
  const findings: readonly { code: string; mend: string }[] = JSON.parse(stdout);
  t.strictSame(
    findings
      .filter(({ code }) => code.startsWith('shared_store'))
      .map(({ mend }) => mend)
      .sort(),
    mends,
  );
});

t.test('a key of another type is named, with the type that it has to have, until it is gone', async t => {
  const { address, servers } = await startSingle(t);
  const { cli } = servers[0];
  const server = await fleetHost(t, { address, host: 'one' });
  const readyz = async () => {
    const { status, text } = await server.ask('gate', '/readyz');
    return { status, reasons: JSON.parse(text).reasons.join() };
  };
  const [policy = ''] = (await cli('keys', '*:policy')).trim().split('\n');
  // Only changes, or only what this host stores, need these.
  for (const [name, type] of [
    ['events', 'hash'],
    ['usage:one:changes', 'zset'],
  ]) {
    const key = policy.replace(/policy$/, `${name}`);
    await cli('del', key);
    await cli('set', key, 'mine');
    const found = await until(async () => {
      const now = await readyz();
      return now.status === 503 ? now : null;
    });
    t.match(found.reasons, new RegExp(`the key ${key} .*it is a string, not a ${type}`));
    const { stdout } = await server.softquota(['doctor', '--json']);
    const findings: readonly { code: string; message: string }[] = JSON.parse(stdout);
    t.match(findings.find(({ code }) => code === 'shared_away')?.message, `the key ${key} `);
    await cli('del', key);
    await until(async () => ((await readyz()).status === 200 ? true : null));
  }
});

t.test('each thing is told once, and that it is mended', async t => {
  const { address, servers } = await startSingle(t, ...careless);
  const store = await openRedisStore({ address, prefix: 'p', waitReplicas: 1 });
  t.teardown(() => store.close());
  const told: string[] = [];
  const tell = (level: string) => (details: object, message: string) => {
    t.match(details, { code: String });
    told.push(`${level}: ${message.replace(/127\.0\.0\.1:\d+/, 'X')}`);
  };
  const advised = new AdviceWatch({ store, everyMs: 0, log: { warn: tell('warn'), info: tell('info') } });
  const look = async () => {
    await advised.look();
    return told.splice(0);
  };
  t.match(await look(), [
    /^warn: Redis at X writes no append-only file.*appendonly yes$/,
    /^warn: .*throws keys away.*\(maxmemory-policy allkeys-lru\).*maxmemory-policy noeviction$/,
    /^warn: .*has 0 of the 1 replicas/,
  ]);
  t.strictSame(await look(), []);
  await servers[0].cli('config', 'set', 'appendonly', 'yes');
  await servers[0].cli('config', 'set', 'appendfsync', 'no');
  t.match(await look(), [
    /^warn: .*a power cut loses.*appendfsync everysec$/,
    /^info: no longer so: .*append-only/,
  ]);
  // While it begins to keep that file it does not end in order.
  await servers[0].end('SIGKILL');
  t.strictSame(await look(), [], 'of a server that is away nothing is told');
});
