/**
 * No quarantine of a push that goes on is removed, wherever git and the worker run; and where it happened all
 * the same, the push fails and the repository is whole.
 */

import { mkdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { isLong, lengthOf } from '../run-length.ts';
import { until } from './ask.ts';
import { manyCommits } from './at-once.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { asUser, gitAs, makeRepository, openForGitUser, startWorker, uid } from './git-user.ts';
import { addHook, openWays, quarantinesIn } from './left-behind.ts';
import { rawPushes, wholePush } from './raw-push.ts';
import { must } from './run.ts';
import type { Server } from './server.ts';

t.setTimeout(isLong ? 2 * 3_600_000 : 240_000);

/** For how long a push goes on: several looks of the worker. */
const longMs = isLong ? 12 * 60_000 : 12_000;
/** nginx ends an upload that sends nothing for a minute. */
const nginxMs = 50_000;
/** The worker does not see what runs outside. */
const ownProcesses = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child', '--'];
const isFirstNamespace = (await readlink('/proc/self/ns/pid')) === 'pid:[4026531836]';
/** The tests' own processes are all that work here. */
const alone = isFirstNamespace ? {} : { reclaim: { ALONE: 'true' } };
const limit = { 'quota.default': { TOTAL: '100M' } };
const branchBytes = 50_000;

/** A repository in which a hook after softquota's takes long. */
async function slowRepository(server: Server, name: string): Promise<string> {
  const bare = await makeRepository(server, name);
  await server.installHooks();
  await addHook(bare, 'pre-receive.d/50-long', `sleep ${longMs / 1000}`);
  return bare;
}

/** Pushes some branches at once with a receive-pack that is started so; says which failed, and why. */
async function pushLong(
  server: Server,
  bare: string,
  receivers: readonly (readonly string[])[],
): Promise<readonly string[]> {
  const clone = await Clone.of(server, bare);
  const branches = await manyCommits(clone, receivers.length, branchBytes);
  const failed = await Promise.all(
    receivers.map(async (words, at) => {
      const { code, stderr } = await clone.push([`--receive-pack=${words.join(' ')}`, branches[at] ?? '']);
      return code === 0 ? [] : [stderr];
    }),
  );
  return failed.flat();
}

async function isWhole(t: Test, bare: string): Promise<void> {
  t.match(await gitAs(bare, 'fsck', '--full', '--strict', '--no-dangling'), { code: 0 }, `fsck of ${bare}`);
}

/** Halves of uploads by each way, which end after that long. */
async function pauseUploads(t: Test, server: Server, bare: string): Promise<void> {
  const clone = await Clone.of(server, bare);
  const ways = await openWays(t, server, asUser(uid));
  const branches = await manyCommits(clone, ways.length, branchBytes);
  await Promise.all(
    ways.map(async ({ name, begin }, at) => {
      const branch = branches[at] ?? '';
      const whole = await wholePush(clone, await clone.git('rev-parse', branch), branch);
      const push = await begin(bare, whole.length);
      await push.send(whole.subarray(0, -100));
      await delay(name === 'http' ? Math.min(longMs, nginxMs) : longMs); // the time is what is tried
      await push.send(whole.subarray(-100));
      await push.ended;
    }),
  );
  const there = await must('git', ['--git-dir', bare, 'for-each-ref', '--format=%(refname:short)']);
  t.strictSame(there.split('\n'), branches, 'uploads that paused end well');
}

t.test('pushes that take long end well beside a worker that looks again and again', async t => {
  const server = await openForGitUser(t, { ...alone, ...limit });
  const own = await slowRepository(server, 'alice/own');
  const apart = await slowRepository(server, 'bob/apart');
  const paused = await makeRepository(server, 'carol/paused');
  const shared = await slowRepository(server, 'dave/shared');
  await must('git', ['config', '-f', join(shared, 'config'), 'core.sharedRepository', 'group']);
  await must('chmod', ['-R', 'g+rwX', shared]);
  await server.installHooks();
  await server.scan();
  await startWorker(t, server);

  const place = join(server.folder, 'elsewhere');
  await mkdir(place);
  const inOwnNamespaces = (at: string) => [
    'unshare --mount --pid --fork --kill-child',
    `sh -c 'mount --bind ${apart} ${at} && exec "$0" "$@"'`,
    ...asUser(uid),
    'git receive-pack',
    at,
    '#',
  ];
  const ofUser = (id: number) => [...asUser(id, uid), 'git -c safe.directory=* receive-pack'];
  const ends = await Promise.all([
    pushLong(server, own, Array(3).fill([...asUser(uid), 'git receive-pack'])),
    pushLong(server, apart, [inOwnNamespaces(place), inOwnNamespaces(apart)]),
    pushLong(server, shared, [51_001, 51_002, 51_003].map(ofUser)),
    pauseUploads(t, server, paused),
  ]);
  const [ofOwn, ofApart, ofShared] = ends;
  t.strictSame(ofOwn, [], 'the git user’s own');
  t.strictSame(ofApart, [], 'in other namespaces of mounts and processes');
  t.strictSame(ofShared, [], 'of users of their own');
  for (const bare of [own, apart, paused, shared]) await isWhole(t, bare);
});

t.test('a worker that does not see the processes of git removes nothing that is in use', async t => {
  const server = await openForGitUser(t, limit);
  const bare = await slowRepository(server, 'alice/app');
  await server.scan();
  await startWorker(t, server, ownProcesses);
  t.strictSame(await pushLong(server, bare, Array(3).fill([...asUser(uid), 'git receive-pack'])), []);
  await isWhole(t, bare);
});

/** Pushers, and how often each pushes. */
const crowd = { pushers: isLong ? 20 : 10, pushes: lengthOf(6, 50) };

t.test('beside a worker that takes each push for over, pushes fail and nothing breaks', async t => {
  const server = await openForGitUser(t, { reclaim: { ALONE: 'true' }, ...limit });
  const bare = await makeRepository(server, 'alice/app');
  await server.installHooks();
  // Some are met in each phase: while they wait here, before that, and after it.
  await addHook(bare, 'pre-receive.d/50-long', 'sleep $(($$ % 3)).$(($$ % 10))');
  await addHook(bare, 'update', 'sleep 0.$(($$ % 10))');
  await server.scan();
  await startWorker(t, server, ownProcesses);
  const begin = rawPushes({ url: path => path, env: {} }, asUser(uid));

  const outcomes = { passed: 0, failed: 0 };
  await Promise.all(
    Array.from({ length: crowd.pushers }, async (_, who) => {
      const clone = await Clone.of(server, bare, {
        env: {
          GIT_CONFIG_COUNT: '1',
          GIT_CONFIG_KEY_0: 'remote.origin.receivepack',
          GIT_CONFIG_VALUE_0: [...asUser(uid), 'git receive-pack'].join(' '),
        },
      });
      await clone.commit(100);
      await clone.git('tag', 'start');
      for (let push = 0; push < crowd.pushes; push++) {
        // Each push is small, however many were before it.
        await clone.git('checkout', '-q', '-B', `b${who}-${push % 3}`, 'start');
        for (let commit = 0; commit <= who % 3; commit++) await clone.commit(1000 * 5 ** (push % 4));
        if (push % 3 === 2) {
          // Its client waits in the middle.
          const whole = await wholePush(clone, await clone.git('rev-parse', 'HEAD'), `r${who}-${push}`);
          const raw = await begin(bare, whole.length);
          await raw.send(whole.subarray(0, whole.length / 2));
          await delay(Math.random() * 2000);
          await raw.send(whole.subarray(whole.length / 2));
          await raw.ended;
        } else {
          const { code } = await clone.push(['--force', 'HEAD']);
          outcomes[code === 0 ? 'passed' : 'failed'] += 1;
        }
      }
    }),
  );
  t.ok(outcomes.passed > 0 && outcomes.failed > 0, JSON.stringify(outcomes));
  await isWhole(t, bare);
  await until(
    async () => ((await quarantinesIn(bare)).length === 0 ? true : null),
    () => 'quarantines stay',
  );
  const bytes = await counted(bare);
  await server.usageIs('alice', used => used === bytes);
});
