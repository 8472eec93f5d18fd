/** Findings about how the server of a shared store is set up, with real servers. */

import t from 'tap';
import { until } from '../e2e/ask.ts';
import { fleetHost } from '../e2e/fleet-hosts.ts';
import { startSingle } from '../store/redis-servers.ts';

const careless = ['--appendonly', 'no', '--maxmemory', '200mb', '--maxmemory-policy', 'allkeys-lru'];

t.test('doctor has the lines of redis.conf that are to be changed', async t => {
  const { address } = await startSingle(t, ...careless);
  const server = await fleetHost(t, { address, host: 'one' });
  const mends = ['appendonly yes', 'maxmemory-policy noeviction'];
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
