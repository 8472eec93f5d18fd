/**
 * Deletes unreachable objects, as `git gc` does, but without the repository's configuration.
 *
 * Objects that became unreachable recently stay, in a cruft pack that records since when: a running push may
 * need them. Only objects that were unreachable and untouched for longer than the expiry are deleted. Refs
 * and reflogs stay as they are.
 */

import { access, constants, lstat, readdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { encodePath } from '../../../layout/index.ts';
import { realPath } from '../../hooks/folder.ts';
import { boundedText, entryNames, identity, isGone, isThere } from '../files.ts';
import { isAlive, staleMs, workAlone } from './gc-lock.ts';
import { isAtLeast, UnusableRepository } from './git.ts';
import { mustHaveNoMounts, writableByOthers } from './inspect.ts';
import { measure } from './measure.ts';
import type { RepositoryView } from './view.ts';

interface CollectOptions {
  /** Objects that are unreachable for a shorter time stay. At least ten minutes. */
  readonly expireMs: number;
  now(): number;
}

const shortestExpireMs = 600_000;

/** Collects garbage; rejects with an `UnusableRepository` if nothing may be deleted, or git fails. */
export async function collect(view: RepositoryView, options: CollectOptions) {
  const { keepsObjects } = view.settings;
  if (keepsObjects !== null) throw new UnusableRepository(`nothing is deleted: ${keepsObjects}`);
  if ((boundedText(`${view.path}/info/grafts`, 1) ?? '') !== '')
    throw new UnusableRepository('nothing is deleted: its history has grafts (info/grafts)');
  mustHaveNoMounts(view.objects);
  await mustHaveOwnObjects(view);
  // Other users could put a link to another repository there at the moment in which git deletes.
  const open = await writableByOthers([view.path, view.objects], view.used);
  if (open !== null)
    throw new UnusableRepository(`nothing is deleted: users other than the worker's may write to ${open}`);
  // A repack that cannot remove what it replaces makes the repository twice as large.
  const kept = await unremovable(view.objects);
  if (kept !== null)
    throw new UnusableRepository(`nothing is deleted: the worker's user may not remove objects in ${kept}`);
  const expireMs = Math.max(options.expireMs, shortestExpireMs);
  const expire = `@${Math.floor((options.now() - expireMs) / 1000)} +0000`;
  const before = await measure(view);
  const isDone = await workAlone(view, async () => {
    await mendBroken(view, options.now() - expireMs);
    // A graph must never name deleted commits, even if this is interrupted: so it is also written before.
    const writeGraph = () => view.git(['commit-graph', 'write', '--reachable', '--no-progress']);
    await writeGraph();
    // Read as late as possible: all that reflogs name from here on was reachable when the collection began.
    await view.refreshReflogs();
    await mustHaveOwnObjects(view);
    // Before 2.37 git has no cruft packs, and keeps what is unreachable as loose objects.
    const unreachable = isAtLeast(view.program, 2, 37)
      ? ['-a', '--cruft', `--cruft-expiration=${expire}`]
      : ['-A', `--unpack-unreachable=${expire}`];
    await view.git([...repack, ...unreachable]);
    await view.prune(expire);
    await writeGraph();
  });
  if (!isDone) throw new UnusableRepository('another gc is running there');
  return { before, after: await measure(view) };
}

/**
 * Rejects with an `UnusableRepository` if the objects lie behind a link, and another repository may need
 * them: its refs lie beside the objects, or the link leads elsewhere by now.
 */
async function mustHaveOwnObjects({ path, objects }: RepositoryView): Promise<void> {
  if (objects === `${path}/objects`) return;
  const found = await identity(`${path}/objects`);
  if (found === null || found !== (await identity(objects)))
    throw new UnusableRepository(`nothing is deleted: objects does not lead to ${objects} any more`);
  const parent = dirname(await realPath(objects));
  for (const name of ofRepository)
    if (await isThere(`${parent}/${name}`))
      throw new UnusableRepository(
        `nothing is deleted: objects leads into ${parent}, which is a repository of its own (it has ${name})`,
      );
}

const ofRepository = ['HEAD', 'refs', 'packed-refs', 'reftable'];

const repack = ['repack', '-d', '-l', '-q'];

/**
 * Finds the first directory of objects from which this user may not remove files; null if there is none. In a
 * repository that a group shares, the worker may be able to add packs but not to remove any.
 */
export async function unremovable(objects: string): Promise<string | null> {
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

/** Names of unfinished files of a repack: `.tmp-PID-pack-…`. */
const inTheMaking = /^\.tmp-(\d{1,10})-pack-/;
const finished = /^(pack-[0-9a-f]{40,64})\.(pack|idx|rev|mtimes|bitmap)$/;
/** Locks that their process removes itself, unless it is killed. */
const locks = [
  'info/commit-graph.lock',
  'info/commit-graphs/commit-graph-chain.lock',
  'pack/multi-pack-index.lock',
];

const indexComesMs = 1000;

/**
 * Writes one bitmap for all packs, with which the next measurement takes a hundredth of the time. Reachable
 * loose objects are packed before; nothing is deleted that is not in a pack. If git cannot do that,
 * everything stays as it is.
 */
export async function writeBitmap(view: RepositoryView): Promise<void> {
  if (view.hasAlternates || !isAtLeast(view.program, 2, 34)) return;
  if ((await writableByOthers([view.path, view.objects], view.used)) !== null) return;
  try {
    mustHaveNoMounts(view.objects);
    await mustHaveOwnObjects(view);
    await workAlone(view, async () => {
      await view.git(repack);
      await view.git(['multi-pack-index', 'write', '--bitmap', '--no-progress']);
    });
  } catch (error) {
    // Without a bitmap (an object may be in no pack), measuring goes on, only slower.
    if (!(error instanceof UnusableRepository)) throw error;
  }
}

/**
 * Removes files of processes that are gone, and writes missing indexes of packs: from 2.37 to 2.40 a repack
 * fails if any `.pack` has no index. A file that changed after `before` may belong to a push or a repack that
 * is under way, also on another host.
 */
async function mendBroken(view: RepositoryView, before: number): Promise<void> {
  const { objects } = view;
  const isOld = async (file: string, limit = before): Promise<boolean> => (await changedAt(file)) < limit;
  // After a long time, a living process of this number is another program.
  for (const name of await entryNames(`${objects}/pack`)) {
    const [, pid] = inTheMaking.exec(name) ?? [];
    const file = `${objects}/pack/${name}`;
    if (pid !== undefined && (await isOld(file, isAlive(Number(pid)) ? before - staleMs : before)))
      await rm(encodePath(file), { force: true });
  }
  const { unindexed, parts } = await brokenPacks(`${objects}/pack`);
  for (const file of [...locks.map(lock => `${objects}/${lock}`), ...parts])
    if (await isOld(file)) await rm(encodePath(file), { force: true });
  if (unindexed.length === 0) return;
  // A push moves a pack first, and then its index.
  await delay(indexComesMs, undefined, { signal: view.limits.signal });
  const { unindexed: still } = await brokenPacks(`${objects}/pack`);
  for (const pack of unindexed) if (still.includes(pack)) await view.git(['index-pack', pack]);
}

/** Finds packs without an index, and files that belong to missing packs. */
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

/** Returns the time of the last change; for a file that is gone, infinity, so that it is never old. */
async function changedAt(file: string): Promise<number> {
  try {
    return (await lstat(encodePath(file))).mtimeMs;
  } catch (error) {
    if (isGone(error)) return Number.POSITIVE_INFINITY;
    throw error;
  }
}
