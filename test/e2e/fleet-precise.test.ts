/**
 * PRECISE over several hosts, to each of which an owner pushes at once: docs/precise.md has the figures. The
 * ordinary run has two hosts and five pushes to each, the long one three and ten.
 */

import t, { type Test } from 'tap';
import { isLong } from '../run-length.ts';
import { startSingle } from '../store/redis-servers.ts';
import { until } from './ask.ts';
import { manyCommits } from './at-once.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { fleetHost } from './fleet-hosts.ts';
import type { Server } from './server.ts';

t.setTimeout(300_000);

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
