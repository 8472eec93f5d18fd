/**
 * A disk with less free space than [disk] MIN_FREE: nothing grows there, and everything else goes on, also
 * where many push at once, again and again.
 */

import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { mountSmall } from '../faults/small-disk.ts';
import { isLong, lengthOf } from '../run-length.ts';
import { until } from './ask.ts';
import { Clone, type Push } from './clone.ts';
import { counted } from './count.ts';
import { must } from './run.ts';
import { Server } from './server.ts';

t.setTimeout(isLong ? 5 * 3_600_000 : 240_000);

const megabyte = 1_000_000;

/** A server whose repositories lie on a disk of their own; `size` as tmpfs has it. */
async function onSmallDisk(
  t: Test,
  size: string,
  disk: Readonly<Record<string, string>>,
  repositories: readonly string[],
): Promise<{ readonly server: Server; readonly disk: string }> {
  const server = await Server.open(t, { started: false });
  const mounted = join(server.folder, 'git');
  await mountSmall(t, mounted, size);
  await server.configure({ quota: { ENABLED: 'true' }, 'quota.default': { TOTAL: '-1' }, disk });
  for (const name of repositories) await server.repository(name);
  await server.installHooks();
  await server.start();
  return { server, disk: mounted };
}

async function freeOf(path: string): Promise<number> {
  const { bsize, bavail } = await statfs(path);
  return bsize * bavail;
}

t.test('what grows is refused with that reason, and all else passes', async t => {
  const { server, disk } = await onSmallDisk(t, '64m', { MIN_FREE: '16M' }, ['alice/app']);
  const clone = await Clone.of(server, join(server.folder, 'git/alice/app.git'));
  await clone.commit(1000);
  t.equal((await clone.push(['main', 'main:old'])).code, 0);
  const check = () =>
    server.ask('gate', '/v1/check', { body: { owner: 'bob', subject: 'size:repos:private' } });
  t.equal((await check()).status, 200);
  t.equal((await server.ask('gate', '/v1/check?owner=bob&subject=size:git:lfs')).status, 200);

  const ballast = join(disk, 'ballast');
  await writeFile(ballast, randomBytes(Math.floor((await freeOf(disk)) - 15 * megabyte)));
  await server.daemon.logged(/: The disk is nearly full: .*; what grows there is refused$/);
  const refused = await check();
  t.equal(refused.status, 413);
  t.match(JSON.parse(refused.text), {
    allowed: false,
    owner: 'bob',
    limit: null,
    disk: { of: 'bytes', free: Number, size: Number, least: Number },
    message:
      /^The disk is nearly full: 1\d(\.\d)? MB of \d+(\.\d)? MB are free, and 1\d(\.\d)? MB have to stay free\.$/,
  });
  t.equal((await server.ask('gate', '/v1/check?owner=bob&subject=size:repos:private')).status, 413);
  t.equal(
    (await server.ask('gate', '/v1/check?owner=bob&subject=size:assets:packages:all')).status,
    200,
    'packages lie on no disk that is full',
  );
  await clone.commit(1000);
  const push = await clone.push();
  t.equal(push.code, 1);
  t.match(push.said, /The disk is nearly full: .* have to stay free\./);
  t.match(push.said, /You can still\s+delete branches and tags\. Try again/);
  t.notMatch(push.said, disk, 'a pusher does not learn where the disk is');
  t.equal((await clone.push([':old'])).code, 0, 'a deletion passes');
  t.equal((await clone.git('ls-remote', 'origin')).includes('old'), false, 'and so does reading');

  const ready = await server.ask('gate', '/readyz');
  t.match(JSON.parse(ready.text), { notes: [/The disk is nearly full/] });
  const doctor = await server.softquota('doctor --json');
  t.match(doctor.stdout, /"disk_full"/);
  const { disks } = await server.admin('/admin/quota/overview');
  t.match(disks, [{ state: 'full' }]);
  const events = await until(async () => {
    const told = await server.admin('/admin/quota/events?kind=refusal');
    return told.length === 0 ? null : told;
  });
  t.match(events, [{ full_disk: true, limit: null }]);

  await server.reload({ quota: { MODE: 'report' } });
  const reported = await check();
  t.match({ status: reported.status, ...JSON.parse(reported.text) }, { status: 200, would_refuse: true });

  await server.configure({ quota: { MODE: 'enforce' } });
  server.daemon.child.kill('SIGHUP');
  const list = server.socket('gate').replace('.sock', '.refused');
  await until(async () => ((await readFile(list, 'utf8')).includes('/alice/app.git\t') ? true : null));
  await server.stop('SIGKILL');
  const alone = await clone.push();
  t.match(alone, { code: 1, said: /The disk is nearly full: / }, 'without the daemon as well');
  await server.start();
  await server.daemon.logged(/: The disk is nearly full: .*; what grows there is refused$/);

  await rm(ballast);
  await server.daemon.logged(/^enough is free again at /);
  t.notMatch(JSON.parse((await check()).text), { would_refuse: true });
  t.equal((await clone.push()).code, 0);
});

t.test('a size counts bytes, and a share counts files as well', async t => {
  const { server, disk } = await onSmallDisk(t, '16m,nr_inodes=1000', { MIN_FREE: '60%' }, ['alice/app']);
  const check = () =>
    server.ask('gate', '/v1/check', { body: { owner: 'bob', subject: 'size:repos:private' } });
  t.equal((await check()).status, 200);
  const { files } = await statfs(disk);
  const folder = join(disk, 'many');
  await mkdir(folder);
  const names = Array.from({ length: Math.ceil(files / 2) }, (_, at) => join(folder, `f${at}`));
  for (let at = 0; at < names.length; at += 200)
    await Promise.all(names.slice(at, at + 200).map(name => writeFile(name, '')));
  await server.daemon.logged(
    / more files fit, and [\d,]+ have to stay possible; what grows there is refused$/,
  );
  t.equal((await check()).status, 413);
  await server.configure({ disk: { MIN_FREE: '1M' } });
  server.daemon.child.kill('SIGHUP');
  await server.daemon.logged(/^enough is free again at /);
  t.equal((await check()).status, 200);
});

const runs = lengthOf(1, 20);
const pushes = isLong ? 200 : 12;

const minFree = 40_000_000;
/**
 * More than a disk of 67 MB has beside MIN_FREE, and less than MIN_FREE itself: all of it may be under way
 * at once.
 */
const bytesOfRun = 34_000_000;
const owners = ['alice', 'bob', 'carol', 'dave'];
/** Branches of each repository that are deleted one by one while others push. */
const oldBranches = Array.from({ length: 5 }, (_, at) => `old${at}`);

/** Files that git leaves in a repository only while a push is under way. */
async function unfinished(repository: string): Promise<readonly string[]> {
  const found = await readdir(join(repository, 'objects'), { recursive: true });
  return found.filter(path => /(?:tmp_objdir|incoming)-|(?:^|\/)\.?tmp[_-]/.test(path));
}

async function branchesOf(repository: string): Promise<readonly string[]> {
  const said = await must('git', ['-C', repository, 'for-each-ref', '--format=%(refname:short)']);
  return said.split('\n').filter(name => name !== '');
}

t.test(`${runs} runs of ${pushes} pushes at once never fill the disk, and break nothing`, async t => {
  const names = owners.map(owner => `${owner}/app`);
  const { server, disk } = await onSmallDisk(t, '64m', { MIN_FREE: String(minFree) }, names);
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

  let least = await freeOf(disk);
  const watch = setInterval(() => void freeOf(disk).then(free => (least = Math.min(least, free))), 20);
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
    const size = Math.floor((await freeOf(disk)) - minFree * 0.9);
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
