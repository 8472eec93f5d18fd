/**
 * Recognizes the files that git leaves in a repository while it works: unfinished files, and the locks of a
 * gc. They are signs that a repack may be at work, during which the same objects may exist twice.
 *
 * A repack writes a pack, and then removes the packs and loose objects that it replaces, one by one. Each
 * step changes a directory of `objects`; no other sign shows in all phases of a repack.
 *
 * Ages are measured by the wall clock, since git and the file system know no other. A time more than an hour
 * ahead counts as an hour old: a clock that was set back must not hide bytes for ever.
 */

import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { hostname } from 'node:os';
import { isProcessAlive, readBounded } from '../bounded/index.ts';
import { beforeLook, directoryStatus, encodePath } from '../layout/index.ts';

const minute = 60_000;
export const hour = 60 * minute;

/** Tells whether a directory of `objects` holds a push that is not accepted yet. */
export function isQuarantine(name: string): boolean {
  return name.startsWith('tmp_objdir-') || name.startsWith('incoming-');
}

/** Tells whether a directory of `objects` holds loose objects; its name is the first byte of their ids. */
export function isFanOut(name: string): boolean {
  return /^[0-9a-f]{2}$/.test(name);
}

/** Tells whether a file of `objects/pack` is no pack yet. */
export function isUnfinishedPack(name: string): boolean {
  return name.startsWith('tmp_') || name.startsWith('.tmp-');
}

/** Tells whether an unfinished file may still be being written, and was not left behind. */
export function isYoung(modifiedAt: number, now: number): boolean {
  return Math.abs(now - modifiedAt) < hour;
}

/**
 * Tells whether a file of `objects/pack`, changed at this time, shows that a repack is at work. An unfinished
 * file does for a minute, and for twelve hours while the process that its name gives is alive; later another
 * process may have the number, as with a gc.pid. A lock does for an hour: git writes nothing into the lock of
 * a multi-pack-index while it makes the bitmaps of a large repository, and only then removes the packs that
 * it has replaced.
 */
export function showsRepack(name: string, modifiedAt: number, now: number): boolean {
  const age = Math.abs(now - modifiedAt);
  if (name.endsWith('.lock')) return age < hour;
  if (!isUnfinishedPack(name)) return false;
  if (age < minute) return true;
  const [, pid] = /^\.tmp-(\d{1,10})-/.exec(name) ?? [];
  return pid !== undefined && age < 12 * hour && isProcessAlive(Number(pid));
}

/** Tells whether there is a `gc.pid` that git would respect. One of another host counts for an hour. */
function isCollected(repository: string, now: number): boolean {
  const path = `${repository}/gc.pid`;
  const age = ageOf(path, now);
  if (age === null || age > 12 * hour) return false;
  try {
    const file = readBounded(encodePath(path), { mostBytes: mostLockBytes });
    if (file.kind !== 'file') return false;
    const [, pid, host] = /^(\d{1,10}) (\S+)/.exec(file.bytes.toString()) ?? [];
    if (pid === undefined) return false;
    return host === hostname() ? isProcessAlive(Number(pid)) : age < hour;
  } catch {
    return false;
  }
}

/**
 * Tells whether git maintenance may be at work. Its lock is empty and stays if git is killed, so it counts
 * for an hour.
 */
function isMaintained(repository: string, now: number): boolean {
  const age = ageOf(`${repository}/objects/maintenance.lock`, now);
  return age !== null && age < hour;
}

/** Limit for a gc.pid, which has a process id and a host name. */
const mostLockBytes = 1024;

/** Milliseconds since a file's last change; null: there is no such file. */
function ageOf(path: string, now: number): number | null {
  try {
    const stats = lstatSync(encodePath(path), { throwIfNoEntry: false });
    return stats?.isFile() === true ? Math.abs(now - stats.mtimeMs) : null;
  } catch {
    return null;
  }
}

export interface RepackSigns {
  /**
   * Milliseconds from the last change of a directory of `objects` to the beginning of the walk; negative: one
   * changed during the walk; null: this host's clock does not set these times, see `directories`.
   */
  readonly quietMs: number | null;
  /**
   * The state of the directories: differs between two walks if one has changed. Empty if `quietMs` is given.
   */
  readonly directories: string;
  /** A directory of `objects` changed during the walk. */
  readonly isChanged: boolean;
  /** `objects/pack` changed during the walk. */
  readonly arePacksChanged: boolean;
  /** `objects/pack` has files that a repack is writing. */
  readonly isWriting: boolean;
  /** There is a gc.pid that git would respect. */
  readonly isCollected: boolean;
  /** There is a maintenance.lock. */
  readonly isMaintained: boolean;
}

export const noSigns: RepackSigns = {
  quietMs: Number.POSITIVE_INFINITY,
  directories: '',
  isChanged: false,
  arePacksChanged: false,
  isWriting: false,
  isCollected: false,
  isMaintained: false,
};

/** Tells whether git may be at work, other than by a change shortly before the walk. */
export function showWork({ isChanged, isWriting, isCollected, isMaintained }: RepackSigns): boolean {
  return isChanged || isWriting || isCollected || isMaintained;
}

/**
 * Watches a repository during a walk, from now until the returned function is called at its end. `startedAt`:
 * the time now, in milliseconds since 1970; `hasOwnTimes`: this host's clock sets the times of the
 * directories; `objects`: the directory of its objects.
 */
export function watchSigns(
  repository: string,
  startedAt: number,
  hasOwnTimes: boolean,
  objects = `${repository}/objects`,
): (isWriting: boolean) => RepackSigns {
  const wasCollected = isCollected(repository, startedAt);
  const wasMaintained = isMaintained(repository, startedAt);
  const before = hasOwnTimes ? '' : stateOf(statusesOf(objects));
  const packs = directoryStatus(`${objects}/pack`);
  // A directory that changed within the last tick of the clock may change again with the same time.
  const isJustChanged = packs !== null && Math.abs(startedAt - packs.mtimeMs) < tickMs;
  const packsBefore = isJustChanged ? '' : stateOf([packs]);
  return isWriting => {
    const now = Date.now();
    const statuses = statusesOf(objects);
    const directories = hasOwnTimes ? '' : stateOf(statuses);
    const newest = Math.max(...statuses.map(stats => timeOf(stats, now)));
    const quietMs = hasOwnTimes ? startedAt - newest : null;
    return {
      quietMs,
      directories,
      isChanged: quietMs === null ? directories !== before : quietMs < tickMs,
      arePacksChanged: packsBefore !== stateOf([directoryStatus(`${objects}/pack`)]),
      isWriting,
      isCollected: wasCollected || isCollected(repository, now),
      isMaintained: wasMaintained || isMaintained(repository, now),
    };
  };
}

/** File systems take times from the kernel's tick, so a change may have a slightly earlier time. */
const tickMs = 20;

/** The time of the last change. A time more than an hour ahead says nothing: the clock was set back. */
function timeOf(stats: Stats | null, now: number): number {
  const time = stats?.mtimeMs ?? Number.NEGATIVE_INFINITY;
  return time > now + hour ? Number.NEGATIVE_INFINITY : time;
}

/** The statuses of `objects` and its own directories; null where one cannot be read. */
function statusesOf(objects: string): readonly (Stats | null)[] {
  // A link in place of `objects` leads elsewhere.
  if (directoryStatus(objects) === null) return [];
  let fanOut: readonly string[] = [];
  try {
    beforeLook(objects);
    fanOut = readdirSync(encodePath(objects)).filter(isFanOut);
  } catch {
    // The walk reports that it cannot be read.
  }
  return ['', '/info', '/pack', ...fanOut.map(name => `/${name}`)].map(name =>
    directoryStatus(objects + name),
  );
}

function stateOf(statuses: readonly (Stats | null)[]): string {
  return statuses.map(stats => (stats === null ? '' : `${stats.ino} ${stats.mtimeMs}`)).join();
}
