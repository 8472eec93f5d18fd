/** A Redis that is set up with the files that the manual prints is killed at random moments. */

import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { SharedStore } from '../../src/store/index.ts';
import { isLong } from '../run-length.ts';
import { share } from '../store/records.ts';
import { isBack, placeIn } from '../store/redis-places.ts';
import { startSingle } from '../store/redis-servers.ts';
import { commit, opened, position, rule, sharesOf, tell } from '../store/shared-place.ts';

const kills = isLong ? 200 : 4;
t.setTimeout(isLong ? 1_200_000 : 120_000);

const printed = (name: string) => fileURLToPath(new URL(`../../share/redis/${name}`, import.meta.url));

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
  const folder = t.testdir({ 'users.acl': readFileSync(printed('users.acl'), 'utf8') });
  const acl = ['--aclfile', `${folder}/users.acl`];
  // The last of two lines counts.
  const { servers } = await startSingle(t, '--include', printed('redis.conf'), ...acl);
  const [redis] = servers;
  const address = `redis://softquota:CHANGE-THIS@127.0.0.1:${redis.port}/0`;
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
