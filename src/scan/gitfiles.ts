/**
 * What git leaves in a repository while it works: files in the making, and two copies of the same
 * objects for the moment between a new pack's arrival and the old ones' removal.
 *
 * Ages are told by the wall clock, since git and the file system know no other. A time that lies
 * more than an hour ahead is as old as one an hour ago: a clock that was set back must not hide
 * bytes for ever.
 */

import { type BigIntStats, lstatSync, readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { readBounded } from '../bounded/index.ts';
import { systemCode } from '../errors.ts';
import { encodePath } from '../layout/index.ts';

const second = 1000;
const hour = 3600 * second;

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

/** Tells whether a repack is writing to a file, which was changed at this time. */
export function isBeingWritten(modifiedAt: number, now: number): boolean {
  return Math.abs(now - modifiedAt) < 60 * second;
}

/** The state that shows whether packs were added or removed. */
export interface Packs {
  readonly identity: string;
  /** Tells whether a repack may just have made one, and not have removed yet what is in it. */
  readonly fresh: boolean;
}

export function packsOf(repository: string, now: number): Packs {
  const objects = statusOf(`${repository}/objects`);
  const pack = statusOf(`${repository}/objects/pack`);
  const isWithin = (stats: BigIntStats | null, milliseconds: number): boolean =>
    stats !== null && Math.abs(now - Number(stats.mtimeMs)) < milliseconds;
  // Each push changes `objects` by its quarantine, whatever becomes of it: only the directories of loose
  // objects tell, which go for a while after a new pack has come.
  const fanOut = isWithin(pack, 60 * second) ? fanOutOf(`${repository}/objects`) : '';
  return {
    identity: [
      objects === null ? '' : objects.ino,
      pack === null ? '' : `${pack.ino} ${pack.mtimeNs} ${pack.ctimeNs}`,
      fanOut,
    ].join(),
    // Old packs go at once. Loose objects go one by one, and their directories with them.
    fresh: isWithin(pack, 2 * second) || (isWithin(pack, 60 * second) && isWithin(objects, 2 * second)),
  };
}

function fanOutOf(objects: string): string {
  try {
    return readdirSync(encodePath(objects)).filter(isFanOut).sort().join(' ');
  } catch {
    return '';
  }
}

/** A gc, repack or maintenance at work. */
export interface Collector {
  /** Another one has another. */
  readonly id: string;
  /** Whatever it made was not there before. Milliseconds since 1970. */
  readonly since: number;
}

/**
 * The `git gc` or `git maintenance` at work, by the same signs that keep git from starting
 * a second one. They are believed for twelve hours.
 */
export function collectorsOf(repository: string, now: number): Collector[] {
  return ['objects/maintenance.lock', 'gc.pid'].flatMap(name => {
    const path = `${repository}/${name}`;
    const stats = statusOf(path);
    const since = Number(stats?.mtimeMs);
    if (stats?.isFile() !== true || Math.abs(now - since) >= 12 * hour) return [];
    if (name === 'gc.pid' && !isHeld(path)) return [];
    return [{ id: `${name} ${stats.ino} ${stats.mtimeNs}`, since }];
  });
}

/** A number and a name of a host. */
const mostLockBytes = 1024;

/** Tells whether the process that a gc.pid names lives, as far as this host can tell. */
function isHeld(path: string): boolean {
  try {
    const file = readBounded(encodePath(path), { mostBytes: mostLockBytes });
    if (file.kind !== 'file') return false;
    const [, pid, host] = /^(\d+) (\S+)/.exec(file.bytes.toString()) ?? [];
    return pid !== undefined && (host !== hostname() || isAlive(Number(pid)));
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}

function statusOf(path: string): BigIntStats | null {
  try {
    return lstatSync(encodePath(path), { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}
