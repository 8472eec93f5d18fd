/**
 * Watches the directories above the units for changes.
 *
 * Creating, removing or renaming an entry changes the status of its directory. So a pass reads one status per
 * directory, and lists only the directories that changed. It reports where something may have changed; only a
 * walk finds out what is there. Synchronous, for a thread of its own. Notifications of the system would need
 * a watch for each directory, and network file systems have none.
 */

import { systemCode } from '../errors.ts';
import {
  below,
  childOf,
  coarsestTimeMs,
  type Directory,
  directoryAt,
  directoryStatus,
  isUnchanged,
  type Layout,
  look,
  namesInTemplate,
  type Root,
} from '../layout/index.ts';
import { haveMostVanished } from './roots.ts';
import { beginTask, rest, type Shared } from './shared.ts';

/** Units that a pass missed below a root. */
interface Missed {
  readonly root: string;
  /**
   * Paths at which there may have been units, and are none now. With `hasVanished`, only those that were
   * taken out of a directory which is still there, on the same disk.
   */
  readonly gone: readonly string[];
  /** Most units of the root are gone at once, so its disk may be, too. */
  readonly hasVanished: boolean;
}

/** The findings of a part of a pass. */
export interface Watched {
  /** Tells whether it is the first pass of a thread, which finds all units. */
  readonly isFirst: boolean;
  /** Paths of units that are new or have replaced another directory. */
  readonly found: readonly string[];
  /** Null: the pass goes on. */
  readonly pass: {
    readonly missed: readonly Missed[];
    readonly directories: number;
    readonly milliseconds: number;
  } | null;
}

interface WatchedDirectory {
  device: number;
  /** 0 before the first look. */
  inode: number;
  changedAt: number;
  /** It changed so shortly before the last look that a later change may have the same time. */
  isYoung: boolean;
  /** The inodes of its directories, by name; null: not known. */
  inodes: ReadonlyMap<string, number | null>;
  /** Its own device and inode when these were listed. */
  listed: string;
}

/**
 * Limit of directories in one directory whose inodes are read. Above it, only a sweep notices replaced ones.
 */
const mostIdentified = 1000;
/** Time from the beginning of a pass to that of the next one. */
const everyMs = 2000;
const sliceMs = 10;
/** Rest of a thread, as a multiple of the time that it works. */
const restPerWork = { first: 3, later: 19 } as const;

export class Directories {
  readonly #layout: Layout;
  readonly #root: Root;
  readonly #watched = new Map<string, WatchedDirectory>();
  readonly #found: string[] = [];
  /** Paths that are gone, each with true if the directory that had it is still the same one. */
  readonly #gone = new Map<string, boolean>();
  readonly #unread = new Map<string, string>();

  /** Watches the directories below one of the layout's outermost roots. */
  constructor(layout: Layout, root: Root) {
    this.#layout = layout;
    this.#root = root;
    this.#watch(root.path);
  }

  get size(): number {
    return this.#watched.size;
  }

  /** Checks each directory, and yields after each. The first pass finds all units. */
  *pass(): Generator<void, Missed> {
    for (const [path, watched] of this.#watched) {
      // The units of an unmounted disk are not gone.
      if (path === this.#root.path && !isThere(this.#root)) break;
      this.#lookAt(path, watched);
      yield;
    }
    const missed = [...this.#gone];
    this.#gone.clear();
    const { path: root } = this.#root;
    if (!isThere(this.#root)) return { root, gone: [], hasVanished: false };
    const hasVanished = haveMostVanished(missed.length, missed.length + this.#unitCount());
    const gone = missed.flatMap(([path, isRemoved]) => (isRemoved || !hasVanished ? [path] : []));
    return { root, gone, hasVanished };
  }

  /** Returns the paths of new and replaced units found since the last call. */
  takeFound(): string[] {
    return this.#found.splice(0);
  }

  /** Paths that may be units but cannot be read, each with the code of the error. */
  get unread(): ReadonlyMap<string, string> {
    return this.#unread;
  }

  /** Number of names in the watched directories that are not watched directories themselves. */
  #unitCount(): number {
    let names = 0;
    for (const watched of this.#watched.values()) names += watched.inodes.size;
    return names - this.#watched.size;
  }

  #watch(path: string): void {
    this.#watched.set(path, {
      device: 0,
      inode: 0,
      changedAt: 0,
      isYoung: false,
      inodes: new Map(),
      listed: '',
    });
  }

  #lookAt(path: string, watched: WatchedDirectory): void {
    const stats = directoryStatus(path);
    // The listing of its parent notices a directory that is gone.
    if (stats === null) return;
    const { ino: inode, ctimeMs: changedAt } = stats;
    if (inode === watched.inode && changedAt === watched.changedAt && !watched.isYoung) return;
    watched.device = stats.dev;
    watched.inode = inode;
    watched.changedAt = changedAt;
    watched.isYoung = Math.abs(Date.now() - changedAt) < coarsestTimeMs;
    const directory = directoryAt(this.#layout, path);
    const toList = this.#unitsOr(directory);
    if (toList === null) this.#forget(path);
    else if (toList !== undefined) this.#list(toList, watched);
  }

  /**
   * Adds the units at or in a directory to those found, and returns null. Without units, returns the
   * directory to list, or undefined if there is nothing to list.
   */
  #unitsOr(directory: Directory): Directory | null | undefined {
    const pending: Directory[] = [];
    const found = [...look(this.#layout, directory, pending)];
    const unread = found.find(one => one.type === 'unread' && one.path === directory.path);
    if (unread?.type === 'unread') this.#unread.set(unread.path, unread.error);
    else this.#unread.delete(directory.path);
    const units = found.flatMap(one => (one.type === 'unit' ? [one.unit.path] : []));
    if (units.length === 0) return pending[0];
    this.#found.push(...units);
    for (const unit of units) this.#gone.delete(unit);
    return null;
  }

  #list(directory: Directory, watched: WatchedDirectory): void {
    const { names, unread } = namesInTemplate(directory);
    // A directory that cannot be read has not gone.
    if (unread.length > 0) return;
    const isIdentified = names.length <= mostIdentified;
    const before = watched.inodes;
    const inodeOf = (name: string) =>
      (isIdentified ? directoryStatus(below(directory.path, name))?.ino : null) ?? before.get(name) ?? null;
    const now = new Map(names.map(name => [name, inodeOf(name)]));
    const isKept = (name: string): boolean => {
      const [one, other] = [before.get(name), now.get(name)];
      if (one === undefined || other === undefined) return false;
      return one === null || other === null || one === other;
    };
    const own = `${watched.device}:${watched.inode}`;
    const isSame = watched.listed === own;
    for (const name of before.keys()) if (!isKept(name)) this.#miss(below(directory.path, name), isSame);
    watched.inodes = now;
    watched.listed = own;
    for (const name of names) {
      if (isKept(name)) continue;
      const child = childOf(this.#layout, directory, name);
      // A directory that is no unit may become one, or get some below it.
      if (child !== null && this.#unitsOr(child) !== null) this.#watch(child.path);
    }
  }

  /**
   * Adds the possible units at or below a path that is gone, or another directory now, to those gone.
   * `isSame`: the directory that had it is still the same one.
   */
  #miss(path: string, isSame: boolean): void {
    for (const other of this.#forget(path)) this.#gone.set(other, isSame && other === path);
  }

  /** Stops watching a directory and those below it. Returns the other paths there: possible units. */
  #forget(path: string): string[] {
    const others: string[] = [];
    const pending = [path];
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      const watched = this.#watched.get(at);
      if (watched === undefined) others.push(at);
      else for (const name of watched.inodes.keys()) pending.push(below(at, name));
      this.#watched.delete(at);
      this.#unread.delete(at);
    }
    return others;
  }
}

function isThere(root: Root): boolean {
  try {
    return isUnchanged(root);
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return false;
  }
}

/**
 * Checks the directories again and again, until the thread is ended. A pass begins every two seconds and
 * works for at most a twentieth of the time, the first one for a quarter. So a pass over very many
 * directories takes longer than two seconds.
 */
export function watchDirectories(
  layout: Layout,
  roots: readonly Root[],
  shared: Shared,
  send: (watched: Watched) => void,
): never {
  const all = roots.map(root => new Directories(layout, root));
  const takeFound = () => all.flatMap(directories => directories.takeFound());
  for (let isFirst = true; ; isFirst = false) {
    const rests = restPerWork[isFirst ? 'first' : 'later'];
    const begun = performance.now();
    let sliceBegun = begun;
    const missed: Missed[] = [];
    for (const _ of passOver(all, missed)) {
      const workedMs = performance.now() - sliceBegun;
      if (workedMs < sliceMs) continue;
      const found = takeFound();
      if (found.length > 0) send({ isFirst, found, pass: null });
      pause(shared, workedMs * rests);
      sliceBegun = performance.now();
    }
    const directories = all.reduce((sum, { size }) => sum + size, 0);
    const milliseconds = performance.now() - begun;
    send({ isFirst, found: takeFound(), pass: { missed, directories, milliseconds } });
    pause(shared, Math.max(everyMs - milliseconds, (performance.now() - sliceBegun) * rests));
  }
}

function* passOver(all: readonly Directories[], missed: Missed[]): Generator<void, void> {
  for (const directories of all) missed.push(yield* directories.pass());
}

/** Sleeps. The thread counts as idle meanwhile, and can be ended. */
function pause(shared: Shared, milliseconds: number): void {
  rest(shared);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
  beginTask(shared);
}
