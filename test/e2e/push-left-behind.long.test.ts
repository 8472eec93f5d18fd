/**
 * Files that refused pushes and broken uploads leave where no worker removes them, and on a host with many
 * repositories.
 */

import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { counted } from './count.ts';
import { asUser, openForGitUser, startWorker, uid } from './git-user.ts';
import {
  ask,
  attackAll,
  attackedRepositories,
  attackedRepository,
  attacks,
  leftBehind,
  openWays,
} from './left-behind.ts';
import { must } from './run.ts';

t.setTimeout(1_800_000);

const through = asUser(uid);
const times = 10;

t.test('without a worker all of it counts after 130 seconds, what drips as well', async t => {
  const server = await openForGitUser(t, { 'quota.default': { TOTAL: '1M' } });
  const ways = await openWays(t, server, through);
  const repositories = await attackedRepositories(server, ways, times);
  await server.installHooks();
  await server.scan();
  const ends = await attackAll(repositories);
  await delay(130_000); // the time that is promised
  for (const [scenario, { bare, owner }] of repositories) {
    // A slow upload has at most a few bytes more by now.
    const [before, used, after] = [await counted(bare), await server.usage(owner), await counted(bare)];
    t.ok(before - 100 <= used && used <= after, `${scenario}: ${before} bytes on the disk, ${used} counted`);
  }
  for (const end of ends) await end();
});

t.test('in one of 20,000 repositories nothing is left after fifteen seconds', async t => {
  const server = await openForGitUser(t, { 'quota.default': { TOTAL: '1M' } });
  const ways = await openWays(t, server, through);
  const bare = join(server.folder, 'empty.git');
  for (const name of ['objects', 'refs']) await mkdir(join(bare, name), { recursive: true });
  await writeFile(join(bare, 'HEAD'), 'ref: refs/heads/main\n');
  for (let at = 0; at < 20_000; at++)
    await cp(bare, server.path(`owner-${at % 500}/repository-${at}`), { recursive: true });
  await must('chown', ['-R', `${uid}:${uid}`, join(server.folder, 'git')]);
  const attacked = await attackedRepository(server, ways, 'attacked', { bytes: 1_200_000, times });
  const hooks = await server.softquota(['hooks', 'install', attacked.bare]);
  t.equal(hooks.code, 0, hooks.stderr);
  await server.scan();
  await startWorker(t, server);
  await ask(attacked);
  for (const name of ['refused pushes with a hang-up', 'uploads broken off before the last bytes'] as const) {
    await attacks[name](attacked);
    const endedAt = performance.now();
    let last = 'never looked';
    while (last !== '' && performance.now() - endedAt < 15_000) {
      last = await leftBehind(attacked);
      if (last !== '') await delay(200);
    }
    t.equal(last, '', `${name}, ${((performance.now() - endedAt) / 1000).toFixed(1)} s`);
  }
});
