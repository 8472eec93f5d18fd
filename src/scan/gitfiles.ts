/**
 * The files that git leaves in a repository while it works: files in the making, and the locks of a gc. They
 * are signs that a repack may be at work, so that the same objects may be there twice.
 *
 * A repack writes a pack, and then removes what is in it, pack by pack and object by object: all of that
 * changes directories of `objects`, and nothing else that it does can be seen in all of its phases.
 *
 * Ages are told by the wall clock, since git and the file system know no other. A time that lies
 * more than an hour ahead is as old as one an hour ago: a clock that was set back must not hide
 * bytes for ever.
 */

import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { hostname } from 'node:os';
import { isProcessAlive, readBounded } from '../bounded/index.ts';
import { beforeLook, directoryStatus, encodePath } from '../layout/index.ts';

const minute = 60_000;
export const hour = 60 * minute;

/** Directories of `objects` that hold a push which is not accepted yet. */
export function isQuarantine(name: string): boolean {
  return name.startsWith('tmp_objdir-') || name.startsWith('incoming-');
}

/** Directories of `objects` that hold loose objects, by the first byte of their names. */
export function isFanOut(name: string): boolean {
  return /^[0-9a-f]{2}$/.test(name);
}

/** Files of `objects/pack` that are no packs yet. */
export function isUnfinishedPack(name: string): boolean {
  return name.startsWith('tmp_') || name.startsWith('.tmp-');
}

/** Tells whether what is in the making still is, and has not been left behind. */
export function isYoung(modifiedAt: number, now: number): boolean {
  return Math.abs(now - modifiedAt) < hour;
}

/**
 * Tells whether this file of `objects/pack`, changed at this time, shows that a repack is at work: it was
 * written within a minute, or the process that its name tells lives. That is believed for twelve hours, as a
 * gc.pid is: another process may have got the number. A lock is believed for an hour: git writes nothing into
 * the one of a multi-pack-index while it makes the bitmaps of a large repository, and only then removes the
 * packs that it has replaced.
 */
export function showsRepack(name: string, modifiedAt: number, now: number): boolean {
  const age = Math.abs(now - modifiedAt);
  if (name.endsWith('.lock')) return age < hour;
  if (!isUnfinishedPack(name)) return false;
  if (age < minute) return true;
  const [, pid] = /^\.tmp-(\d{1,10})-/.exec(name) ?? [];
  return pid !== undefined && age < 12 * hour && isProcessAlive(Number(pid));
}

/** Tells whether there is a `gc.pid` that git would respect. That of another host is believed for an hour. */
export function isCollected(repository: string, now: number): boolean {
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

/** Tells whether a maintenance may be at work. Its lock is empty, and stays where it is killed. */
export function isMaintained(repository: string, now: number): boolean {
  const age = ageOf(`${repository}/objects/maintenance.lock`, now);
  return age !== null && age < hour;
}

/** A number and a name of a host. */
const mostLockBytes = 1024;

/** Null: there is no such file. */
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
   * Milliseconds between the last change of a directory of `objects` and the walk's beginning; negative: it
   * changed during the walk; null: this host's clock does not tell, see `directories`.
   */
  readonly quietMs: number | null;
  /** Differs where a directory changed between two walks; empty where `quietMs` tells. */
  readonly directories: string;
  /** A directory of `objects` changed during the walk. */
  readonly isChanged: boolean;
  /** `objects/pack` did. */
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

/**
 * Watches a repository from now until the end of a walk, when the function that it returns is to be called.
 * `startedAt`: the time now, in milliseconds since 1970; `hasOwnTimes`: this host's own clock tells when
 * directories changed; `objects`: where its objects are.
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
  // One that changed within the last tick of the clock may change again in it.
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

/** File systems tell times to the kernel's tick, or better: what changes now may bear an earlier time. */
const tickMs = 20;

/** A time that lies more than an hour ahead says nothing: the clock was set back. */
function timeOf(stats: Stats | null, now: number): number {
  const time = stats?.mtimeMs ?? Number.NEGATIVE_INFINITY;
  return time > now + hour ? Number.NEGATIVE_INFINITY : time;
}

/** The statuses of `objects` and its own directories; null where one cannot be read. */
function statusesOf(objects: string): readonly (Stats | null)[] {
  // A link in its place leads elsewhere.
  if (directoryStatus(objects) === null) return [];
  let fanOut: readonly string[] = [];
  try {
    beforeLook(objects);
    fanOut = readdirSync(encodePath(objects)).filter(isFanOut);
  } catch {
    // The walk says that it cannot be read.
  }
  return ['', '/info', '/pack', ...fanOut.map(name => `/${name}`)].map(name =>
    directoryStatus(objects + name),
  );
}

function stateOf(statuses: readonly (Stats | null)[]): string {
  return statuses.map(stats => (stats === null ? '' : `${stats.ino} ${stats.mtimeMs}`)).join();
}
