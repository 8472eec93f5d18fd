/**
 * Somebody puts something else in the place of each file and folder that git opens in a repository: links,
 * pipes, devices, files without an end. Whatever the worker then does there, no other repository changes by
 * a byte, nothing takes longer than its time, and neither the worker nor a git takes 300 MB.
 */

import { execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, link, lstat, mkdir, readFile, rename, rm, symlink, truncate } from 'node:fs/promises';
import { createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { isWithin, mountsNow } from '../../../src/layout/index.ts';
import { Cache } from '../../../src/scan/signature.ts';
import { walk } from '../../../src/scan/walk.ts';
import { isLong, some } from '../../run-length.ts';
import { independentCount, unitAt, walkRequest } from '../../scan/world.ts';
import { snapshot } from '../hooks/server.ts';
import { type Asked, type Done, workNames } from './shape-works.ts';
import { Repository } from './space/world.ts';

t.setTimeout(isLong ? 7_200_000 : 300_000);

const mostBytes = 300 * 1024 * 1024;
/** Time of each piece of work; a program that does not end by itself may take a moment longer. */
const timeoutMs = isLong ? 10_000 : 3000;
const spareMs = 12_000;
const many = isLong ? 20_000 : 2000;
const quarantine = 'tmp_objdir-incoming-AbCdEf';

/** Puts something at a place, where nothing is; `victim` is the same place in another's repository. */
type Put = (place: string, victim: string) => unknown;

async function fill(place: string, bytes: number): Promise<void> {
  execFileSync('sh', ['-c', ': >"$0"', place]);
  await truncate(place, bytes);
}

async function inFolder(place: string, script: string): Promise<void> {
  await mkdir(place);
  execFileSync('perl', ['-e', script, String(many)], { cwd: place });
}

const shapes: Readonly<Record<string, Put>> = {
  'link to another repository': (place, victim) => symlink(victim, place),
  'link to a folder above': place => symlink('..', place),
  'link to itself': place => symlink(basename(place), place),
  'link to nothing': place => symlink('/nowhere/at/all', place),
  'link to /dev/zero': place => symlink('/dev/zero', place),
  'link to /proc': place => symlink('/proc/self', place),
  'device without an end': place => execFileSync('mknod', [place, 'c', '1', '5']),
  pipe: place => execFileSync('mkfifo', [place]),
  socket: async place => {
    // A path of a socket is short.
    const short = `/tmp/${process.pid}.sock`;
    const server = createServer().listen(short);
    await once(server, 'listening');
    await rename(short, place);
    server.close();
  },
  'file of a tebibyte': place => fill(place, 2 ** 40),
  'file of 256 MiB': place => fill(place, 2 ** 28),
  'empty file': place => fill(place, 0),
  noise: place => execFileSync('dd', ['if=/dev/urandom', `of=${place}`, 'bs=64k', 'count=4', 'status=none']),
  'one line without an end': place =>
    execFileSync('sh', ['-c', `yes x | tr -d '\\n' | head -c 200000 >"$0"`, place]),
  "other's file by another name": async (place, victim) => {
    const isFile = (await lstat(victim).catch(() => null))?.isFile() === true;
    await (isFile ? link(victim, place) : fill(place, 1));
  },
  'empty folder': place => mkdir(place),
  'folder as deep as no path': place =>
    inFolder(place, 'for (1 .. 1200) { mkdir "dddd"; chdir "dddd" or die }'),
  'folder of many files': place => inFolder(place, 'for (1 .. $ARGV[0]) { open my $f, ">", "f$_" or die }'),
  'folder of odd names': place =>
    inFolder(
      place,
      String.raw`for ("\n", "a\nb", "-rf", "\xff\xfe", "é", "\$(id)", '"', "...", " ") { open my $f, ">", $_; mkdir "$_.d" }`,
    ),
  'folder of links': (place, victim) =>
    mkdir(place).then(() =>
      Promise.all(
        ['ab', 'pack', 'info', 'heads', 'x', 'HEAD', 'main'].map(each => symlink(victim, join(place, each))),
      ),
    ),
  "file of another's": async place => {
    await fill(place, 100);
    await chown(place, 4711, 4711);
  },
  "folder of another's": async place => {
    await mkdir(place, { mode: 0o700 });
    await chown(place, 4711, 4711);
  },
  'another file system': async place => {
    await mkdir(place);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', place]);
  },
  "other's folder, mounted": async (place, victim) => {
    const isFolder = (await lstat(victim).catch(() => null))?.isDirectory() === true;
    await mkdir(place);
    if (isFolder) execFileSync('mount', ['--bind', victim, place]);
  },
};

const hex = '1'.repeat(40);
/** PACK stands for the name of a pack that is there. */
const places = [
  'HEAD',
  'config',
  'packed-refs',
  'packed-refs.lock',
  'shallow',
  'index',
  'gc.pid',
  'gc.pid.lock',
  'refs',
  'refs/heads',
  'refs/heads/main',
  'refs/heads/x',
  'refs/heads/deep/x',
  'reftable',
  'reftable/tables.list',
  'logs',
  'logs/HEAD',
  'logs/refs/heads',
  'logs/refs/heads/main',
  'worktrees',
  'worktrees/tree',
  'worktrees/tree/HEAD',
  'worktrees/tree/index',
  `worktrees/tree/sharedindex.${hex}`,
  'worktrees/tree/commondir',
  'worktrees/tree/gitdir',
  'worktrees/tree/refs',
  'worktrees/tree/logs',
  'worktrees/tree/rebase-merge/autostash',
  'worktrees/x/HEAD',
  'modules/x',
  'hooks',
  'hooks/pre-receive',
  'info',
  'info/grafts',
  'info/attributes',
  'lfs',
  'objects',
  'objects/ab',
  `objects/ab/${'c'.repeat(38)}`,
  'objects/info',
  'objects/info/alternates',
  'objects/info/packs',
  'objects/info/commit-graph',
  'objects/info/commit-graph.lock',
  'objects/info/commit-graphs',
  'objects/info/commit-graphs/commit-graph-chain',
  `objects/info/commit-graphs/graph-${hex}.graph`,
  'objects/pack',
  'objects/pack/PACK.pack',
  'objects/pack/PACK.idx',
  'objects/pack/PACK.rev',
  'objects/pack/PACK.bitmap',
  'objects/pack/PACK.keep',
  'objects/pack/PACK.mtimes',
  `objects/pack/pack-${hex}.pack`,
  `objects/pack/pack-${hex}.idx`,
  'objects/pack/multi-pack-index',
  `objects/pack/multi-pack-index-${hex}.bitmap`,
  'objects/pack/multi-pack-index.d/multi-pack-index-chain',
  'objects/pack/.tmp-1-pack-x.pack',
  `objects/${quarantine}`,
  `objects/${quarantine}/pack`,
  `objects/${quarantine}/ab`,
  `objects/${quarantine}/info/alternates`,
];

interface World {
  readonly victim: Repository;
  /** A stranger's, and how it was before. */
  readonly eve: Repository;
  readonly kept: string;
  readonly pack: string;
  /** All that is in the other's repository. */
  state(): Promise<Record<string, string>>;
}

async function world(t: Test): Promise<World> {
  const victim = await Repository.open(t);
  const { server, path } = victim;
  await victim.git('-C', path, 'config', 'core.logAllRefUpdates', 'always');
  await victim.commit({ a: 30_000, 'b/c': 5000 });
  await victim.push('main');
  await victim.commit({ a: 30_000 });
  await victim.push('main:refs/heads/other');
  for (const args of [
    ['worktree', 'add', '-q', '--detach', server.path('tree'), 'main'],
    ['pack-refs', '--all'],
    ['repack', '-adq', '--write-bitmap-index'],
    ['multi-pack-index', 'write'],
    ['commit-graph', 'write', '--reachable', '--split'],
  ]) {
    const { code, stderr } = await server.git(args, path);
    if (code !== 0) throw new Error(stderr);
  }
  await victim.commit({ d: 4000 });
  await victim.push('main');
  execFileSync('sh', [
    '-c',
    'mkdir -p "$0/lfs/objects/aa/bb" && echo x >"$0/lfs/objects/aa/bb/$1"',
    path,
    'a'.repeat(64),
  ]);
  await victim.age();
  const kept = server.path('kept');
  execFileSync('cp', ['-a', path, kept]);
  const eve = victim.at(server.path('git/eve/one.git'));
  const found = execFileSync('sh', ['-c', 'ls "$0"', join(path, 'objects/pack')], { encoding: 'utf8' });
  const [, pack = ''] = /(pack-\w+)\.pack/.exec(found) ?? [];
  return { victim, eve, kept, pack, state: () => snapshot(path) };
}

async function restore({ eve, kept }: World): Promise<void> {
  execFileSync('rm', ['-rf', eve.path]);
  await mkdir(dirname(eve.path), { recursive: true });
  execFileSync('cp', ['-a', kept, eve.path]);
}

/** The worker, as a process of its own. */
class WorkerProcess {
  readonly #child = fork(new URL('shape-works.ts', import.meta.url), { execArgv: ['--no-warnings'] });

  constructor(t: Test) {
    t.teardown(() => this.#child.kill('SIGKILL'));
  }

  /** Does one thing; gives why it was not done, or null. `isSwapped`: git may read without an end, up to its bound. */
  async do(t: Test, name: string, work: string, path: string, isSwapped = false): Promise<string | null> {
    const begun = performance.now();
    this.#child.send({ work, path, timeoutMs, memoryBytes: mostBytes } satisfies Asked);
    // It answers with nothing else, or ends.
    const ended = once(this.#child, 'exit').then(() => [{ why: 'the worker ended', isKnown: false }]);
    const [{ why, isKnown }] = (await Promise.race([once(this.#child, 'message'), ended])) as [Done];
    const isTooMuch = !isSwapped && /out of memory|malloc|cannot allocate/i.test(why ?? '');
    if (isTooMuch || !isKnown) t.fail(`${name}: ${why}`);
    const tookMs = performance.now() - begun;
    if (tookMs > timeoutMs + spareMs) t.fail(`${name}: it took ${Math.round(tookMs)} ms`);
    return why;
  }

  async highestBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1024;
  }
}

function walkedBy(path: string): { readonly bytes: number; readonly files: number } {
  const found = walk(walkRequest(unitAt(path, 'repos')), new Cache(null), () => {});
  return { bytes: found?.bytes ?? 0, files: found?.files ?? 0 };
}

const cases = places.flatMap(place => Object.entries(shapes).map(([shape, put]) => ({ place, shape, put })));

t.test(
  `of ${cases.length} things that strangers may leave somewhere none reaches beyond their repository`,
  async t => {
    const own = await world(t);
    const worker = new WorkerProcess(t);
    const { victim, eve } = own;
    const before = await own.state();
    let refused = 0;
    for (const { place, shape, put } of some(cases, 131)) {
      const name = place.replace('PACK', own.pack);
      await restore(own);
      const at = join(eve.path, name);
      await rm(at, { recursive: true, force: true });
      await mkdir(dirname(at), { recursive: true });
      await put(at, join(victim.path, name));
      try {
        const tree = [
          `${eve.path}/`,
          ...['-not', '(', '-type', 'd', '-path', '*/objects/tmp_objdir-*', '-prune', ')'],
          // Only a file that a repack makes, not what lies in a folder of such a name.
          ...['-not', '-regex', String.raw`.*/objects/pack/\.tmp-[^/]*`],
        ] as const;
        t.strictSame(walkedBy(eve.path), independentCount(...tree), `${place}: ${shape}: the daemon counts`);
        for (const work of workNames) {
          const why = await worker.do(t, `${place}: ${shape}: ${work}`, work, eve.path);
          if (why !== null) refused += 1;
        }
      } finally {
        unmountBelow(eve.path);
      }
      const after = await own.state();
      if (!t.strictSame(after, before, `${place}: ${shape}`)) return;
    }
    t.comment(`${refused} times the worker refused`);
    const highest = await worker.highestBytes();
    t.ok(highest < mostBytes, `${highest / 1e6} MB`);
    t.comment(`the worker took at most ${highest / 1e6} MB`);
  },
);

/** Also where the worker has given what is mounted another name. */
function unmountBelow(path: string): void {
  for (const { at } of mountsNow()) if (isWithin(at, path)) execFileSync('umount', ['-l', at]);
}

const swapped = [
  'refs/heads/main',
  'objects/pack',
  'logs',
  'packed-refs',
  'refs/heads',
  'objects',
  'objects/info',
  'objects/info/commit-graphs',
  'logs/refs/heads/main',
  'worktrees',
  'worktrees/tree',
  'worktrees/tree/HEAD',
  'worktrees/tree/index',
  'HEAD',
  'config',
  'lfs',
  'lfs/objects',
];
const swaps = swapped.flatMap(place =>
  ['pipe', 'link to another repository', 'link to /dev/zero'].map(shape => ({ place, shape })),
);
const rounds = isLong ? 10 : 1;
/** Puts one in the place of the other, again and again, at all speeds. */
const swapping = `
  my ($place) = @ARGV;
  while (1) {
    rename $place, "$place.kept"; rename "$place.shape", $place;
    select undef, undef, undef, rand 0.01;
    rename $place, "$place.shape"; rename "$place.kept", $place;
    select undef, undef, undef, rand 0.01;
  }`;

t.test('where one is put in the place of the other while the worker looks, it is the same', async t => {
  const own = await world(t);
  const worker = new WorkerProcess(t);
  const { victim, eve } = own;
  const before = await own.state();
  for (const { place, shape } of some(swaps, 17)) {
    await restore(own);
    const at = join(eve.path, place);
    await shapes[shape]?.(`${at}.shape`, join(victim.path, place));
    // A stranger has no other way to write there.
    execFileSync('chown', ['-hR', '4711:4711', eve.path]);
    const swapper = spawn('perl', ['-e', swapping, at]);
    t.teardown(() => swapper.kill('SIGKILL'));
    for (let round = 1; round <= rounds; round++) {
      walkedBy(eve.path);
      for (const work of workNames) {
        const name = `${place}: ${shape}: ${work}`;
        const why = await worker.do(t, name, work, eve.path, true);
        if (work === 'collection') t.ok(why !== null, `${name}: nothing is deleted`);
      }
    }
    swapper.kill('SIGKILL');
    await once(swapper, 'exit');
    if (!t.strictSame(await own.state(), before, `${place}: ${shape}`)) return;
  }
  const highest = await worker.highestBytes();
  t.ok(highest < mostBytes, `${highest / 1e6} MB`);
  t.comment(`the worker took at most ${highest / 1e6} MB`);
});
