/**
 * Many pushes of a megabyte at once, with room for three, and the default settings: three or four pass,
 * whatever dies meanwhile, and what came to nothing takes no room. The long run has fifty pushes, and more
 * that dies.
 */

import { chown, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isLong, some } from '../run-length.ts';
import { until } from './ask.ts';
import { manyCommits, openBetween } from './at-once.ts';
import { Clone, type Push } from './clone.ts';
import { counted } from './count.ts';
import { admitGitUser, asUser, gitAs, makeRepository, openForGitUser, startWorker, uid } from './git-user.ts';
import { addHook, descendantsOf, leftBehind } from './left-behind.ts';
import { rawPushes, wholePush } from './raw-push.ts';
import { must } from './run.ts';
import type { Server } from './server.ts';
import { type Transport, transports } from './transports.ts';

t.setTimeout(isLong ? 600_000 : 240_000);

const pushBytes = 1_000_000;
const many = isLong ? 50 : 12;
/** Limit that leaves room for three pushes, beside what a bare repository has at first. */
const total = '3M';
const through = asUser(uid);

interface Crowd {
  readonly server: Server;
  readonly bare: string;
  readonly clone: Clone;
  readonly transport: Transport;
  /** One for each push, and `spare` for those that come after. */
  readonly branches: readonly string[];
}

const spare = 2;

async function open(t: Test, pushes: number, ...install: readonly string[]): Promise<Crowd> {
  const server = await openForGitUser(t, { 'quota.default': { TOTAL: total } });
  const bare = await makeRepository(server, 'alice/app');
  const transport = await transports['file paths'](t, server, { through });
  const clone = await Clone.of(server, bare, { env: transport.env });
  const branches = await manyCommits(clone, pushes + spare, pushBytes);
  await server.installHooks(...install);
  await server.scan();
  return { server, bare, clone, transport, branches };
}

/** Pushes all of them at once, as git does. */
const pushAll = ({ clone, branches }: Crowd): Promise<readonly Push[]> =>
  Promise.all(branches.slice(0, -spare).map(branch => clone.push([branch])));

async function stored(bare: string): Promise<number> {
  const refs = await must('git', ['--git-dir', bare, 'for-each-ref', '--format=%(refname)']);
  return refs.split('\n').filter(ref => ref !== '').length;
}

/** When all is quiet the figure is that of the disk, nothing is reserved, and what fits passes. */
async function endsWell(t: Test, { server, bare, clone, branches }: Crowd): Promise<void> {
  let last = '';
  await until(
    async () => {
      last = await leftBehind({ server, owner: 'alice', bare });
      return last === '' ? true : null;
    },
    () => last,
  );
  const { status, text } = await server.ask('gate', `/v1/check?path=${bare}`);
  t.match(JSON.parse(text), { used: await counted(bare) }, `${status}: nothing is reserved`);
  const verified = await server.scan({ kind: 'verify' });
  t.match(verified, { state: 'done', drift: { units: 0 } }, 'no figure was wrong');

  await server.reload({ 'quota.default': { TOTAL: String(await counted(bare)) } });
  const one = await clone.push([branches.at(-1) ?? '']);
  t.match(one, { code: 0 }, 'one more that fits');
  const other = await clone.push([branches.at(-2) ?? '']);
  t.match(other, { code: 1, said: /^Quota exceeded: / }, 'and none that does not, at once');
  t.match(await gitAs(bare, 'fsck', '--full', '--strict', '--no-dangling'), { code: 0 });
}

t.test(`three or four of ${many} pass`, async t => {
  const crowd = await open(t, many);
  const ended = await pushAll(crowd);
  const passed = ended.filter(({ code }) => code === 0).length;
  t.ok(passed === 3 || passed === 4, `${passed} passed`);
  const others = ended.filter(({ code, said }) => code !== 0 && !/^Quota exceeded: /.test(said));
  t.strictSame(others, [], 'and the others are told why not');
  await endsWell(t, crowd);
});

t.test('three or four are stored where all hang up', async t => {
  const crowd = await open(t, many);
  const { server, bare, clone, transport, branches } = crowd;
  await startWorker(t, server);
  const begin = rawPushes(transport, through);
  await Promise.all(
    branches.slice(0, -spare).map(async branch => {
      const whole = await wholePush(clone, await clone.git('rev-parse', branch), branch);
      const push = await begin(bare, whole.length);
      push.leave(whole);
      await push.ended;
    }),
  );
  const there = await stored(bare);
  t.ok(there === 3 || there === 4, `${there} are stored`);
  await endsWell(t, crowd);
});

/** Lets the pushes that may go on wait in a hook after softquota's, until a file is there. */
async function holdInHook({ server, bare }: Crowd): Promise<{ readonly release: () => Promise<void> }> {
  const gone = join(server.folder, 'go');
  await addHook(bare, 'pre-receive.d/50-wait', `until [ -e '${gone}' ]; do sleep 0.1; done`);
  return { release: () => writeFile(gone, '') };
}

const killed = {
  hooks: (chain: readonly Process[]) => chain.filter(({ words }) => /pre-receive/.test(words)),
  git: (chain: readonly Process[]) => chain.filter(({ words }) => /receive-pack/.test(words)),
} as const;

interface Process {
  readonly pid: number;
  readonly words: string;
}

for (const [what, chosen] of some(Object.entries(killed), 2)) {
  t.test(`what kills of ${what} end takes no room`, async t => {
    const crowd = await open(t, many);
    await startWorker(t, crowd.server);
    const { release } = await holdInHook(crowd);
    let ended = 0;
    const pushing = Promise.all(
      crowd.branches.slice(0, -spare).map(async branch => {
        const { code } = await crowd.clone.push([branch]);
        ended += 1;
        return code === 0;
      }),
    );
    await until(
      () => (ended >= many - 4 ? true : null),
      () => `${ended} of ${many} ended`,
    );
    await crowd.server.usageIs('alice', used => used > 3 * pushBytes);
    const pids = await descendantsOf(process.pid);
    const chain = await Promise.all(
      pids.map(async pid => ({
        pid,
        words: (await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')).replaceAll('\0', ' '),
      })),
    );
    for (const { pid } of chosen(chain)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // A `sleep` of the waiting hook, which has ended.
      }
    }
    await release();
    const passed = (await pushing).filter(Boolean).length;
    t.equal(passed, 0, 'none of those that were let through came to its end');
    t.equal(await stored(crowd.bare), 0);
    await endsWell(t, crowd);
  });
}

t.test('a daemon that is killed between its decision and its answer lets no more of them pass', async t => {
  const crowd = await open(t, many, '--on-error', 'deny');
  const { server, bare } = crowd;
  const socket = join(server.folder, 'data', 'between.sock');
  let restarting: Promise<unknown> | null = null;
  const between = await openBetween(t, {
    socket,
    gate: server.socket('gate'),
    onAllowed: () => {
      if (restarting !== null) return;
      between.loseAnswers(true);
      restarting = server.stop('SIGKILL').then(async () => {
        await server.start();
        await admitGitUser(server);
        between.loseAnswers(false);
      });
    },
  });
  if (process.getuid?.() === 0) await chown(socket, uid, uid);
  const hook = join(bare, 'hooks/pre-receive');
  const text = await readFile(hook, 'utf8');
  t.ok(text.includes(server.socket('gate')), 'the hook has the path of the gate');
  await writeFile(hook, text.replaceAll(server.socket('gate'), socket));
  const ended = await pushAll(crowd);
  const passed = ended.filter(({ code }) => code === 0).length;
  t.ok(restarting !== null, 'it was killed');
  await restarting;
  t.ok(passed <= 4, `${passed} passed, ${between.allowed()} were answered`);
  await endsWell(t, crowd);
});
