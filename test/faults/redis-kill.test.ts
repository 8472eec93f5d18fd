/** A Redis that is set up with the files that the manual prints is killed at random moments. */

import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { z } from 'zod';
import type { SharedStore } from '../../src/store/index.ts';
import { finding } from '../../src/wire/index.ts';
import { until } from '../e2e/ask.ts';
import { fleetHost } from '../e2e/fleet-hosts.ts';
import { isLong } from '../run-length.ts';
import { share } from '../store/records.ts';
import { isBack, placeIn } from '../store/redis-places.ts';
import { type Server, startSingle } from '../store/redis-servers.ts';
import { commit, opened, position, rule, sharesOf, tell } from '../store/shared-place.ts';

const kills = isLong ? 200 : 4;
t.setTimeout(isLong ? 1_200_000 : 120_000);

const printed = (name: string) => fileURLToPath(new URL(`../../share/redis/${name}`, import.meta.url));
const users = readFileSync(printed('users.acl'), 'utf8');

/** Starts a Redis as the manual says, with other users where they are given. */
async function startPrinted(t: Test, acl = users): Promise<{ redis: Server; address: string; file: string }> {
  const folder = t.testdir({ 'users.acl': acl });
  const file = `${folder}/users.acl`;
  // The last of two lines counts.
  const { servers } = await startSingle(t, '--include', printed('redis.conf'), '--aclfile', file);
  const [redis] = servers;
  return { redis, address: `redis://softquota:CHANGE-THIS@127.0.0.1:${redis.port}/0`, file };
}

/** Changes the policy, and what is stored, until Redis is gone; the last versions that were acknowledged. */
async function write(store: SharedStore, from: number, told: { version: number }): Promise<number> {
  let version = from;
  const usage = async () => {
    for (;;) await tell(store, 'one', [share(`owner-${version % 50}`, 'one')]);
  };
  const policy = async () => {
    for (;;) {
      const text = JSON.stringify({ version: version + 1 });
      await commit(store, { documents: [rule('r', text)] }, position(version), position(version + 1));
      version += 1;
      told.version = version;
    }
  };
  await Promise.allSettled([usage(), policy()]);
  return version;
}

t.test(`killed ${kills} times, Redis comes back with all that it acknowledged`, async t => {
  const { redis, address } = await startPrinted(t);
  const store = await opened(t, placeIn(address, 'softquota'));
  await store.replace({ owners: [], documents: [rule('r', '{"version":1}')] }, null, [position(1)], []);
  let version = 1;
  for (let round = 0; round < kills; round++) {
    const told = { version };
    const writing = write(store, version, told);
    const enough = version + 3;
    while (told.version < enough) await delay(1);
    await delay(Math.random() * 20); // the moment is what is random here
    await redis.end('SIGKILL');
    const acknowledged = await writing;
    await redis.start();
    await isBack(store);
    const { state, policy } = await store.policy();
    version = state.position?.version ?? 0;
    if (version !== acknowledged && version !== acknowledged + 1) {
      t.fail(`round ${round}: ${acknowledged} was acknowledged, ${version} is there`);
      return;
    }
    t.strictSame(policy.documents, [rule('r', JSON.stringify({ version }))]);
  }
  t.comment(`${version} versions`);
  t.not((await sharesOf(store, 'one')).length, 0);
});

t.test('of one that drops its file at a restart doctor says so, and its mend brings all back', async t => {
  const { redis, address, file } = await startPrinted(
    t,
    users.replace(/^user default.*/, 'user default off'),
  );
  const server = await fleetHost(t, { address, host: 'one' });
  await server.admin('/admin/quota/rules', { body: { name: 'r', limit: 1_000_000, subjects: ['size:all'] } });
  await redis.end('SIGKILL');
  await redis.start();
  const isDropped = async () => {
    const { stdout } = await server.softquota(['doctor', '--json']);
    const found = z.array(finding).parse(JSON.parse(stdout));
    return found.some(({ code, severity }) => code === 'shared_store_loses' && severity === 'wrong');
  };
  await until(async () => ((await isDropped()) ? true : null));
  await writeFile(file, users);
  await redis.end();
  await redis.start();
  await until(async () => ((await server.reasons()) === '' ? true : null));
  t.notOk(await isDropped());
});
