/**
 * Deletes the objects that nothing needs, as `git gc` does, without what the repository's configuration says.
 *
 * Objects that became unreachable lately stay, in a cruft pack that knows since when: a running push may need
 * it. Only what was unreachable and untouched for longer than the expiry is deleted. Refs and reflogs stay as
 * they are.
 */

import { access, constants, lstat, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { isGroupAlive, readBounded } from '../../../bounded/index.ts';
import { systemCode } from '../../../errors.ts';
import { encodePath } from '../../../layout/index.ts';
import { entryNames, isGone } from '../files.ts';
import { type GitVersion, isAtLeast } from './git-programs.ts';
import { writableByOthers } from './inspect.ts';
import { measure, type Reachability } from './measure.ts';
import { UnusableRepository } from './repository-config.ts';
import type { RepositoryView, RunLimits } from './view.ts';

interface Collected {
  readonly before: Reachability;
  readonly after: Reachability;
}

interface CollectOptions {
  /** Objects that are unreachable for a shorter time stay. At least ten minutes. */
  readonly expireMs: number;
  readonly limits: RunLimits;
  /** Milliseconds since 1970. */
  now(): number;
}

const shortestExpireMs = 600_000;

/** Rejects with a `UnusableRepository` where nothing may be deleted, or git fails. */
export async function collect(view: RepositoryView, options: CollectOptions): Promise<Collected> {
  const { limits } = options;
  const { keepsObjects } = view.settings;
  if (keepsObjects !== null) throw new UnusableRepository(`nothing is deleted: ${keepsObjects}`);
  // They could put a link there to what is another's at the moment in which git deletes.
  const open = await writableByOthers(view.path, view.used);
  if (open !== null)
    throw new UnusableRepository(`nothing is deleted: users other than the worker's may write to ${open}`);
  // A repack that cannot remove what it replaces makes the repository twice as large.
  const kept = await unremovable(view.path);
  if (kept !== null)
    throw new UnusableRepository(`nothing is deleted: the worker's user may not remove objects in ${kept}`);
  const expireMs = Math.max(options.expireMs, shortestExpireMs);
  const expire = `@${Math.floor((options.now() - expireMs) / 1000)} +0000`;
  const before = await measure(view, limits);
  const unlock = await lockForGc(view.path);
  if (unlock === null) throw new UnusableRepository('another gc is running there');
  try {
    await mendBroken(view, options.now() - expireMs, limits);
    // One that names deleted commits would be damaged, also where this ends before it is written again.
    const writeGraph = () => view.git(['commit-graph', 'write', '--reachable', '--no-progress'], limits);
    await writeGraph();
    // This comes as late as possible: what a reflog names from here on was reached when this began.
    await view.refreshReflogs(limits.signal);
    await repack(view, unreachable(view.program, expire), limits);
    await view.prune(expire, limits);
    await writeGraph();
  } finally {
    await unlock();
  }
  return { before, after: await measure(view, limits) };
}

/** Before 2.37 git has no cruft packs, and keeps what is unreachable as loose objects. */
function unreachable(version: GitVersion, expire: string): readonly string[] {
  if (isAtLeast(version, 2, 37)) return ['-a', '--cruft', `--cruft-expiration=${expire}`];
  return ['-A', `--unpack-unreachable=${expire}`];
}

/**
 * The first directory of objects that this user may not remove from; null: there is none. Where a
 * repository's users write it as members of a group, the worker may be able to add packs and not to remove
 * any.
 */
export async function unremovable(path: string): Promise<string | null> {
  const objects = `${path}/objects`;
  for (const name of await readdir(encodePath(objects))) {
    if (!/^(?:pack|[0-9a-f]{2})$/.test(name)) continue;
    const directory = `${objects}/${name}`;
    try {
      await access(encodePath(directory), constants.W_OK | constants.X_OK);
    } catch {
      return directory;
    }
  }
  return null;
}

/** A lock is believed for so long, as git does. */
const staleMs = 12 * 3_600_000;
/** A lock gets its text at once: one that is empty for longer is left from a process that was killed. */
const emptyMs = 10_000;

/**
 * Takes `gc.pid`, the lock of git gc, so that two collections never meet; gives what lets it go, or null
 * where another collection is under way.
 */
async function lockForGc(path: string): Promise<(() => Promise<void>) | null> {
  const file = encodePath(`${path}/gc.pid`);
  const making = encodePath(`${path}/gc.pid.lock`);
  const text = `${process.pid} ${hostname()}`;
  if (await isHeld(`${path}/gc.pid.lock`)) return null;
  // Otherwise one that was killed here would stop all that come after it.
  await rm(making, { force: true });
  try {
    await writeFile(making, text, { flag: 'wx', mode: 0o644 });
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return null;
    throw error;
  }
  // Nobody else can take it from here on.
  if (await isHeld(`${path}/gc.pid`)) {
    await rm(making, { force: true });
    return null;
  }
  await rename(making, file);
  return async () => {
    // Somebody who took ours for stale has it now.
    if (textOf(`${path}/gc.pid`) === text) await rm(file, { force: true });
  };
}

async function isHeld(path: string): Promise<boolean> {
  const text = textOf(path);
  if (text === null) return false;
  const { mtimeMs } = await lstat(encodePath(path));
  const ageMs = Date.now() - mtimeMs;
  if (ageMs > (text === '' ? emptyMs : staleMs)) return false;
  const [, pid = '', host = ''] = /^(\d+) (\S+)/.exec(text) ?? [];
  if (pid === '' || host !== hostname()) return true;
  return isAlive(Number(pid));
}

function textOf(path: string): string | null {
  const file = readBounded(encodePath(path), { mostBytes: 1024 });
  return file.kind === 'file' ? file.bytes.toString('latin1') : null;
}

/** A process of this host, other than this one. */
function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}

/** A repack names what it makes `.tmp-PID-pack-…`. */
const inTheMaking = /^\.tmp-(\d{1,10})-pack-/;
const finished = /^(pack-[0-9a-f]{40,64})\.(pack|idx|rev|mtimes|bitmap)$/;
/** The process that has one removes it itself, unless it was killed. */
const locks = [
  'info/commit-graph.lock',
  'info/commit-graphs/commit-graph-chain.lock',
  'pack/multi-pack-index.lock',
];

const indexComesMs = 1000;

/** Runs `git repack`; if that is ended, what it was making goes. */
async function repack(view: RepositoryView, args: readonly string[], limits: RunLimits): Promise<void> {
  let own: number | undefined;
  const started = (pid: number): void => {
    own = pid;
  };
  try {
    await view.git(['repack', '-d', '-l', '-q', ...args], { ...limits, started });
  } catch (error) {
    if (!isGroupAlive(own)) await removeMade(`${view.path}/objects/pack`, async pid => pid === own);
    throw error;
  }
}

/**
 * Covers all packs by one bitmap, with which the next measurement takes a hundredth of the time. Loose
 * objects that something reaches go into a pack before; nothing is deleted that is not in a pack. Where git
 * cannot do that, everything stays as it is.
 */
export async function writeBitmap(view: RepositoryView, limits: RunLimits): Promise<void> {
  if (view.hasAlternates || !isAtLeast(view.program, 2, 34)) return;
  if ((await writableByOthers(view.path, view.used)) !== null) return;
  try {
    await repack(view, [], limits);
    await view.git(['multi-pack-index', 'write', '--bitmap', '--no-progress'], limits);
  } catch (error) {
    // Without a bitmap (an object may be in no pack), measuring goes on, only slower.
    if (!(error instanceof UnusableRepository)) throw error;
  }
}

/**
 * Removes what processes left that are gone, and gives packs without an index theirs: from 2.37 to 2.40 git
 * finds each `.pack` in its folder, and gives up, now and ever after, where one has no index. What changed
 * after `before` may belong to a push or a repack that is under way, also on another host.
 */
async function mendBroken(view: RepositoryView, before: number, limits: RunLimits): Promise<void> {
  const objects = `${view.path}/objects`;
  const isOld = async (file: string, limit = before): Promise<boolean> => (await changedAt(file)) < limit;
  // In the end the number belongs to another program.
  await removeMade(`${objects}/pack`, (pid, file) => isOld(file, isAlive(pid) ? before - staleMs : before));
  const { unindexed, parts } = await brokenPacks(`${objects}/pack`);
  for (const file of [...locks.map(lock => `${objects}/${lock}`), ...parts])
    if (await isOld(file)) await rm(encodePath(file), { force: true });
  if (unindexed.length === 0) return;
  // A push moves a pack first, and its index next.
  await delay(indexComesMs, undefined, { signal: limits.signal });
  const { unindexed: still } = await brokenPacks(`${objects}/pack`);
  for (const pack of unindexed) if (still.includes(pack)) await view.git(['index-pack', pack], limits);
}

/** Packs without an index, and what belongs to packs that are not there. */
async function brokenPacks(
  folder: string,
): Promise<{ readonly unindexed: readonly string[]; readonly parts: readonly string[] }> {
  const names = new Set(await entryNames(folder));
  const unindexed: string[] = [];
  const parts: string[] = [];
  for (const name of names) {
    const [, pack, kind] = finished.exec(name) ?? [];
    if (pack === undefined) continue;
    if (kind === 'pack' && !names.has(`${pack}.idx`)) unindexed.push(`${folder}/${name}`);
    if (kind !== 'pack' && !names.has(`${pack}.pack`)) parts.push(`${folder}/${name}`);
  }
  return { unindexed, parts };
}

async function removeMade(
  folder: string,
  isLeft: (pid: number, file: string) => Promise<boolean>,
): Promise<void> {
  for (const name of await entryNames(folder)) {
    const [, pid] = inTheMaking.exec(name) ?? [];
    const file = `${folder}/${name}`;
    if (pid !== undefined && (await isLeft(Number(pid), file))) await rm(encodePath(file), { force: true });
  }
}

/** A file that is gone has always just changed. */
async function changedAt(file: string): Promise<number> {
  try {
    return (await lstat(encodePath(file))).mtimeMs;
  } catch (error) {
    if (isGone(error)) return Number.POSITIVE_INFINITY;
    throw error;
  }
}
