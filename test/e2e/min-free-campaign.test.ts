/**
 * Many pushes at once onto a small disk with [disk] MIN_FREE, again and again.
 *
 * `SOFTQUOTA_PUSHES` and `SOFTQUOTA_RUNS` say how many, and how often; the long run has 200, a thousand
 * times.
 */

import { randomBytes } from 'node:crypto';
import { readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { mountSmall } from '../faults/small-disk.ts';
import { isLong } from '../run-length.ts';
import { until } from './ask.ts';
import { Clone, type Push } from './clone.ts';
import { counted } from './count.ts';
import { must } from './run.ts';
import { Server } from './server.ts';

const runs = Number(process.env.SOFTQUOTA_RUNS ?? (isLong ? 1000 : 1));
const pushes = Number(process.env.SOFTQUOTA_PUSHES ?? (isLong ? 200 : 12));

const minFree = 40_000_000;
/**
 * More than a disk of 67 MB has beside MIN_FREE, and less than MIN_FREE itself: all of it may be under way
 * at once.
 */
const bytesOfRun = 34_000_000;
const owners = ['alice', 'bob', 'carol', 'dave'];
/** Branches of each repository that are deleted one by one while others push. */
const oldBranches = Array.from({ length: 5 }, (_, at) => `old${at}`);

async function freeOn(path: string): Promise<number> {
  const { bsize, bavail } = await statfs(path);
  return bsize * bavail;
}

/** Files that git leaves in a repository only while a push is under way. */
async function unfinished(repository: string): Promise<readonly string[]> {
  const found = await readdir(join(repository, 'objects'), { recursive: true });
  return found.filter(path => /(?:tmp_objdir|incoming)-|(?:^|\/)\.?tmp[_-]/.test(path));
}

async function branchesOf(repository: string): Promise<readonly string[]> {
  const said = await must('git', ['-C', repository, 'for-each-ref', '--format=%(refname:short)']);
  return said.split('\n').filter(name => name !== '');
}

t.setTimeout(isLong ? 5 * 3_600_000 : 240_000);

t.test(`${runs} runs of ${pushes} pushes at once never fill the disk, and break nothing`, async t => {
  const server = await Server.open(t, { started: false });
  const disk = join(server.folder, 'git');
  await mountSmall(t, disk, '64m');
  await server.configure({
    quota: { ENABLED: 'true' },
    'quota.default': { TOTAL: '-1' },
    disk: { MIN_FREE: String(minFree) },
  });
  for (const owner of owners) await server.repository(`${owner}/app`);
  await server.installHooks();
  await server.start();
  const repositories = owners.map(owner => join(disk, owner, 'app.git'));

  const begin = async (repository: string, bytes: number) => {
    const clone = await Clone.of(server, repository);
    await clone.commit(bytes);
    return clone;
  };
  const pushers: { readonly clone: Clone; readonly repository: string }[] = [];
  const cleaners: { readonly clone: Clone; readonly repository: string }[] = [];
  for (const repository of repositories) cleaners.push({ clone: await begin(repository, 100), repository });
  for (let at = 0; at < pushes; at++) {
    const repository = repositories[at % repositories.length] ?? '';
    pushers.push({ clone: await begin(repository, Math.floor(bytesOfRun / pushes)), repository });
  }

  let least = await freeOn(disk);
  const watch = setInterval(() => void freeOn(disk).then(free => (least = Math.min(least, free))), 20);
  t.teardown(() => clearInterval(watch));
  const isRefusing = async () =>
    (await server.ask('gate', '/v1/check?owner=erin&subject=size:repos:private')).status === 413;
  /** The name of the branch that the pusher of this number makes. */
  const branch = (at: number) => `push${at}`;
  const wrong: string[] = [];
  const expect = (isSo: boolean, words: string) => {
    if (!isSo) wrong.push(words);
  };
  const total = { passed: 0, refused: 0, deleted: 0 };

  for (let round = 1; round <= runs; round++) {
    await until(async () => ((await isRefusing()) ? null : true));
    for (const { clone } of cleaners) {
      const { code, stderr } = await clone.push(oldBranches.map(name => `main:${name}`));
      expect(code === 0, `run ${round}: before: ${stderr}`);
    }

    let pushing = true;
    const deletions = Promise.all(
      cleaners.map(async ({ clone }) => {
        for (const name of oldBranches) {
          const { code, stderr } = await clone.push([`:${name}`]);
          expect(code === 0, `run ${round}: a deletion while others push: ${stderr}`);
          total.deleted += 1;
          if (pushing) await clone.git('ls-remote', 'origin');
        }
      }),
    );
    const pushed = await Promise.all(pushers.map(({ clone }, at) => clone.push([`main:${branch(at)}`])));
    pushing = false;
    await deletions;
    for (const { code, said, stderr } of pushed) {
      if (code === 0) total.passed += 1;
      else {
        total.refused += 1;
        expect(said.includes('The disk is nearly full: '), `run ${round}: another refusal: ${stderr}`);
      }
    }
    for (const repository of repositories) {
      const passed = pushed.flatMap(({ code }: Push, at) =>
        code === 0 && pushers[at]?.repository === repository ? branch(at) : [],
      );
      t.same([...(await branchesOf(repository))].sort(), passed.sort(), `run ${round}: what passed is there`);
      t.same(await unfinished(repository), [], `run ${round}: and nothing else`);
      await must('git', ['-C', repository, 'fsck', '--full', '--strict', '--no-dangling']);
    }

    // On a disk without enough space, all of it can be deleted.
    const ballast = join(disk, 'ballast');
    const size = Math.floor((await freeOn(disk)) - minFree * 0.9);
    if (size > 0) await writeFile(ballast, randomBytes(size));
    await until(async () => ((await isRefusing()) ? true : null));
    for (const { clone, repository } of cleaners) {
      const there = await branchesOf(repository);
      if (there.length === 0) continue;
      const { code, stderr } = await clone.push(there.map(name => `:${name}`));
      expect(code === 0, `run ${round}: a deletion on a disk that is nearly full: ${stderr}`);
      total.deleted += there.length;
    }
    await rm(ballast, { force: true });
    for (const repository of repositories) {
      await must('git', ['-C', repository, 'gc', '--quiet', '--prune=now']);
      await must('git', ['-C', repository, 'fsck', '--full', '--strict']);
    }
    if (round % 10 === 0 || wrong.length > 0)
      t.comment(`run ${round}: ${JSON.stringify({ ...total, least, wrong: wrong.length })}`);
  }

  t.same(wrong.slice(0, 20), []);
  t.ok(least > 0, `${least} bytes were free at the least`);
  // On a busy host the few pushes of an ordinary run may come one after the other.
  t.ok(total.passed > 0 && (total.refused > 0 || !isLong), JSON.stringify(total));
  await server.scan();
  for (const [at, owner] of owners.entries())
    t.equal(await server.usage(owner), await counted(repositories[at] ?? ''), `the figures of ${owner}`);
});
