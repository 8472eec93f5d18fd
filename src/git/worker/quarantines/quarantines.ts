/**
 * Removes the quarantines of pushes that ended without git's own clean-up, once no process can own them any
 * more.
 *
 * Repositories that changed or were asked about within the last hour are checked every five seconds, the
 * `objects` of all others once a minute.
 */

import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf } from '../../../errors.ts';
import { encodePath, isQuarantineName, Mounts } from '../../../layout/index.ts';
import { SerialQueue } from '../../../turns.ts';
import type { WorkerReport } from '../../../wire/index.ts';
import { Folder } from '../../hooks/folder.ts';
import { entryNames, identity } from '../files.ts';
import { type JobOptions, Pace } from '../repository-walk.ts';
import { removeLeft } from '../space/gc-lock.ts';
import { isShared } from '../space/git.ts';
import { mustHaveNoMounts } from '../space/inspect.ts';
import { heldQuarantines, type Process, pushProcesses, seesAllProcesses } from './processes.ts';

interface QuarantinesOptions extends JobOptions {
  /** Lists the processes that may own a quarantine; those in /proc unless given. */
  readonly processes?: () => Promise<readonly Process[]>;
}

type RemovedQuarantine = WorkerReport['quarantines']['removed'][number];
/** `since`: when it was made, in milliseconds since 1970. */
type HeldQuarantine = WorkerReport['quarantines']['held'][number];

interface Candidate extends HeldQuarantine {
  readonly uid: number;
  readonly bornAt: number;
  readonly writtenAt: number;
}

const lookEveryMs = 5000;
const passEveryMs = 60_000;
const recentMs = 3_600_000;
/** Time after the last write for which a quarantine stays if not all processes are visible. */
const quietMs = 3_600_000;
const restPerWork = 4;
const mostReported = 1000;
/** Number of repositories after which checks of those with pushes may come in between. */
const freshAtATime = 100;
/** objects/QUARANTINE/pack is one level; nothing of git's is deeper than two. */
const mostDepth = 8;

export class Quarantines {
  readonly #options: QuarantinesOptions;
  /** All repositories, with the time of the last change of their `objects`. */
  readonly #known = new Map<string, number>();
  /** Repositories that are checked every five seconds, with the end of this on the monotonic clock. */
  readonly #recent = new Map<string, number>();
  readonly #held = new Map<string, readonly HeldQuarantine[]>();
  readonly #faults = new Map<string, string>();
  #unreported: RemovedQuarantine[] = [];
  #rounds: Promise<unknown> = Promise.resolve();
  readonly #looks = new SerialQueue();

  constructor(options: QuarantinesOptions) {
    this.#options = options;
    options.repositories.add({
      found: path => this.#known.set(path, 0),
      gone: path => {
        this.#known.delete(path);
        this.#recent.delete(path);
        this.#held.delete(path);
      },
    });
  }

  start(): void {
    this.#rounds = Promise.all([this.#lookOften(), this.#passOften()]);
  }

  async close(): Promise<void> {
    await this.#rounds;
    await this.#looks.idle();
  }

  /** Has a repository checked often, after a push or a request. */
  asked(path: string): void {
    this.#recent.set(path, performance.now() + recentMs);
  }

  async removeIn(path: string): Promise<number> {
    const removed = await this.#look([path]);
    return removed.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Returns the quarantines removed since the last report, and those that a living process holds. */
  report(): WorkerReport['quarantines'] {
    return {
      removed: this.#unreported.splice(0),
      held: [...this.#held.values()]
        .flat()
        .slice(0, mostReported)
        .map(({ unit, name, bytes, since }) => ({ unit, name, bytes, since })),
    };
  }

  /** Checks repositories with pushes often, however long the pass over all others takes. */
  async #lookOften(): Promise<void> {
    const pace = new Pace(restPerWork, this.#options.repositories.signal);
    while (!pace.isStopped) {
      const now = performance.now();
      for (const [path, until] of this.#recent) if (until < now) this.#recent.delete(path);
      await this.#look([...this.#recent.keys()]).catch(() => {});
      await pace.pause(lookEveryMs);
    }
  }

  async #passOften(): Promise<void> {
    const pace = new Pace(restPerWork, this.#options.repositories.signal);
    await this.#options.repositories.start();
    while (!pace.isStopped) {
      const nextAt = performance.now() + passEveryMs;
      await this.#passOver(pace);
      await pace.pause(Math.max(0, nextAt - performance.now()));
    }
  }

  /** Checks every repository whose `objects` has changed, since a new quarantine changes the time of it. */
  async #passOver(pace: Pace): Promise<void> {
    const fresh: string[] = [];
    // The first pass checks all repositories, for their quarantines may be old.
    const lookAtFresh = () => this.#look(fresh.splice(0)).catch(() => {});
    for (const [path, before] of [...this.#known]) {
      if (pace.isStopped) return;
      const stats = await lstat(encodePath(this.#objectsOf(path))).catch(() => null);
      if (stats === null || stats.mtimeMs === before) continue;
      this.#known.set(path, stats.mtimeMs);
      if (before !== 0) this.asked(path);
      else if (fresh.push(path) === freshAtATime) await lookAtFresh();
      await pace.step();
    }
    await lookAtFresh();
  }

  /** Runs one check after the other, so that each removal is reported once. */
  #look(paths: readonly string[]): Promise<readonly RemovedQuarantine[]> {
    return this.#looks.run(() => this.#lookAt(paths));
  }

  async #lookAt(paths: readonly string[]): Promise<readonly RemovedQuarantine[]> {
    const removed: RemovedQuarantine[] = [];
    const found = new Map<string, readonly string[]>();
    for (const path of paths) {
      const objects = this.#objectsOf(path);
      if (await removeLeft({ path, objects }, this.#options.isAlone).catch(() => false)) this.asked(path);
      const all = await entryNames(objects).catch(() => []);
      const names = all.filter(name => isQuarantineName(name) || isGoneName(name));
      if (names.length > 0) found.set(path, names);
      else if (this.#held.delete(path)) this.#options.changed();
    }
    if (found.size === 0) return removed;
    // Read after the names, so that an owner of one of them is among these processes, or has ended.
    const processes = await (this.#options.processes ?? pushProcesses)();
    const seesAll = await seesAllProcesses(this.#options.isAlone);
    const mounts = new Mounts();
    await mounts.refresh();
    for (const [path, names] of found) {
      if (this.#options.repositories.signal.aborted) break;
      try {
        removed.push(...(await this.#removeOver(path, names, processes, seesAll, mounts)));
        this.#faults.delete(path);
      } catch (error) {
        this.#tellFault(path, messageOf(error));
      }
    }
    this.#unreported = [...this.#unreported, ...removed].slice(-mostReported);
    if (removed.length > 0) this.#options.changed();
    return removed;
  }

  async #removeOver(
    path: string,
    names: readonly string[],
    processes: readonly Process[],
    seesAll: boolean,
    mounts: Mounts,
  ): Promise<readonly RemovedQuarantine[]> {
    // A repository with a quarantine is checked again soon.
    this.asked(path);
    await using objects = await Folder.openUnresolved(this.#objectsOf(path));
    const hasManyWriters = isShared(path);
    const candidates: Candidate[] = [];
    for (const name of names) {
      const stats = await statusOf(objects, name, hasManyWriters);
      if (stats === null) continue;
      const content = await contentOf(`${objects.path}/${name}`);
      const { uid, birthtimeMs: bornAt } = stats;
      const since = Math.floor(bornAt || stats.mtimeMs);
      candidates.push({ unit: path, name, uid, bornAt, since, ...content });
    }
    // If `objects` is a link, pushes to a repository around its target use the same directory.
    const places = [path, dirname(objects.path)];
    const shared = (await identity(objects.path)) ?? [];
    const directories = new Set((await Promise.all(places.map(directoriesOf))).flat().concat(shared));
    const held = heldQuarantines(candidates, directories, processes);
    const isLocal = [path, objects.path].every(place => mounts.isLocal(place));
    const isOver = (one: Candidate): boolean => {
      if (isGoneName(one.name)) return true;
      if (held.has(one.name)) return false;
      const isAtOnce = seesAll && isLocal && one.uid === process.geteuid?.();
      return isAtOnce || Date.now() - one.writtenAt > quietMs;
    };
    const alive = candidates.filter(({ name }) => held.has(name));
    if (alive.length === 0) this.#held.delete(path);
    else this.#held.set(path, alive);
    const removed: RemovedQuarantine[] = [];
    for (const { name, bytes } of candidates.filter(isOver)) {
      if ((await statusOf(objects, name, hasManyWriters)) !== null) {
        mustHaveNoMounts(`${objects.path}/${name}`);
        await remove(objects, name);
      }
      removed.push({ unit: path, name, bytes });
    }
    return removed;
  }

  #objectsOf(path: string): string {
    return this.#options.repositories.objectsPathOf(path);
  }

  #tellFault(path: string, why: string): void {
    if (this.#faults.get(path) === why) return;
    if (this.#faults.size > mostReported) this.#faults.clear();
    this.#faults.set(path, why);
    this.#options.log.warn({ path, why }, 'what a push left behind cannot be removed');
  }
}

/** Returns device and inode of the repository, its worktrees and the repositories of its submodules. */
async function directoriesOf(path: string): Promise<readonly string[]> {
  const places = [path];
  for (const folder of ['worktrees', 'modules']) {
    const names = await entryNames(`${path}/${folder}`).catch(() => []);
    places.push(...names.map(name => `${path}/${folder}/${name}`));
  }
  const found: string[] = [];
  for (const place of places) {
    const directory = await identity(place, lstat);
    if (directory !== null) found.push(directory);
  }
  return found;
}

/** Sums up the bytes of regular files, and finds the last change. A vanished file counts nothing. */
async function contentOf(
  path: string,
  depth = mostDepth,
): Promise<{ readonly bytes: number; readonly writtenAt: number }> {
  const stats = await lstat(encodePath(path)).catch(() => null);
  if (stats === null) return { bytes: 0, writtenAt: 0 };
  if (!stats.isDirectory() || depth === 0)
    return { bytes: stats.isFile() ? stats.size : 0, writtenAt: stats.mtimeMs };
  let bytes = 0;
  let writtenAt = stats.mtimeMs;
  for (const name of await entryNames(path).catch(() => [])) {
    const found = await contentOf(`${path}/${name}`, depth - 1);
    bytes += found.bytes;
    writtenAt = Math.max(writtenAt, found.writtenAt);
  }
  return { bytes, writtenAt };
}

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const gone = 'tmp_objdir-gone-';

/** Tells whether a worker renamed this quarantine in order to remove it. */
function isGoneName(name: string): boolean {
  return name.startsWith(gone);
}

/** Returns the status of a quarantine in the opened `objects`; null if it is gone, or must not be touched. */
async function statusOf(objects: Folder, name: string, hasManyWriters: boolean): Promise<Stats | null> {
  const stats = await lstat(objects.at(name)).catch(() => null);
  if (stats?.isDirectory() !== true || stats.dev !== objects.stats.dev) return null;
  const isOurs = stats.uid === objects.stats.uid || stats.uid === process.geteuid?.();
  return isOurs || hasManyWriters ? stats : null;
}

/**
 * Renames a quarantine, and removes it; one that was renamed before is only removed. Should a push still use
 * it against all expectation, the new name makes the push fail cleanly; with only a part of its quarantine it
 * could store a commit without its tree.
 */
async function remove(objects: Folder, name: string): Promise<void> {
  const renamed = isGoneName(name) ? name : gone + name.slice(-6);
  if (isQuarantineName(name)) await rename(objects.at(name), objects.at(renamed));
  await removeTree(objects.at(renamed), mostDepth);
}

/** Opens each directory without following a link, and reaches all below it through that descriptor. */
async function removeTree(path: string | Buffer, depth: number): Promise<void> {
  if (depth === 0) return;
  {
    await using handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    for (const entry of await readdir(below(handle), { withFileTypes: true, encoding: 'buffer' })) {
      const file = below(handle, entry.name);
      if (entry.isDirectory()) await removeTree(file, depth - 1);
      else await unlink(file);
    }
  }
  await rmdir(path);
}

function below({ fd }: FileHandle, name?: Buffer): Buffer {
  const place = Buffer.from(`/proc/self/fd/${fd}`);
  return name === undefined ? place : Buffer.concat([place, Buffer.from('/'), name]);
}
