/** Log lines about how the server of a shared store is set up, with real servers. */

import t from 'tap';
import { AdviceWatch } from '../../src/fleet/advice-watch.ts';
import { openRedisStore } from '../../src/store/index.ts';
import { fleetHost } from '../e2e/fleet-hosts.ts';
import { comes, startSingle } from '../store/redis-servers.ts';

t.setTimeout(120_000);

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

t.test('writing to a replica is told, with the address of its master', async t => {
  const master = await startSingle(t);
  const { port } = master.servers[0];
  const replica = await startSingle(t, '--replicaof', '127.0.0.1', String(port), '--replica-read-only', 'no');
  const [{ cli }] = replica.servers;
  // Its first copy of the master takes the place of whatever was written to it before.
  await comes('the first copy', async () =>
    (await cli('info', 'replication')).includes('master_link_status:up'),
  );
  const server = await fleetHost(t, { address: replica.address, host: 'one' });
  const line = await server.daemon.logged(({ code }) => code === 'replica_written');
  t.match(line.msg, `HOST = redis://127.0.0.1:${port}/0`);
});

t.test('a server that others reach without a password is told of', async t => {
  const { address } = await startSingle(t, '--protected-mode', 'no');
  // An address of this host that is none of the loopback's names looks like another host's.
  const store = await openRedisStore({ address: address.replace('127.0.0.1', '0.0.0.0'), prefix: 'p' });
  t.teardown(() => store.close());
  const told: string[] = [];
  const log = { warn: (_: object, message: string) => told.push(message), info: () => {} };
  await new AdviceWatch({ store, everyMs: 0, log }).look();
  t.match(told.join('\n'), /without a password.*requirepass A-LONG-RANDOM-PASSWORD/);
});
