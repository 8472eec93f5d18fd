/**
 * Inspects the quarantines of pushes: their content, and whether the content of those that are gone was
 * accepted.
 *
 * Never follows a link, and counts only files below the quarantine. Synchronous, for threads.
 */

import { lstatSync, readdirSync, type Stats } from 'node:fs';
import { basename, dirname } from 'node:path';
import { systemCode } from '../errors.ts';
import {
  beforeLook,
  directoryStatus,
  encodePath,
  entryAt,
  type Links,
  list,
  objectsPathOf,
  type Quarantine,
  type QuarantineLook,
  quarantinePath,
} from '../layout/index.ts';
import { isQuarantine } from './gitfiles.ts';

/** The size of a file that counts: its length, or its blocks. */
export type Measure = 'apparent' | 'allocated';

/** The unit of `st_blocks`, whatever the file system's own blocks are. */
const blockBytes = 512;

export function measuredBytes({ size, blocks }: Stats, measure: Measure): number {
  return measure === 'allocated' ? blocks * blockBytes : size;
}

export interface FoundQuarantine extends Quarantine {
  /** Time of birth in milliseconds since 1970, by the file system's host; null: it keeps none. */
  readonly bornAt: number | null;
  /** Tells whether its content cannot be read, or is too much; `bytes` is 0 then. */
  readonly isUnreadable: boolean;
}

/** A quarantine that was seen before. */
export interface ListedQuarantine {
  readonly name: string;
  /** See `Quarantine`. */
  readonly sample: string | null;
}

/** The quarantines of a unit at one moment. */
export interface FoundQuarantines {
  readonly there: readonly FoundQuarantine[];
  /**
   * The listed quarantines that are gone, or that a hook has emptied: without a worker the directory stays if
   * the client hangs up. `isTaken`: its content is in `objects` now.
   */
  readonly gone: readonly { readonly name: string; readonly isTaken: boolean }[];
}

export const noQuarantines: FoundQuarantines = { there: [], gone: [] };

/** The packs that hold no object, by SHA-1 and by SHA-256. */
const emptyPacks: ReadonlySet<string> = new Set([
  'pack/pack-029d08823bd8a8eab510ad6ac75c823cfd3ed31e.pack',
  'pack/pack-7ed890d8a45760f3eecf73045b1d1047085af4776dc683d78eac82203df1993f.pack',
]);

/** git's lock of the pack that arrives, which it removes before post-receive. */
const packLock = /^pack\/pack-[0-9a-f]+\.keep$/;

/** Limit of levels of directories; git needs two. */
const mostDepth = 8;
const mostEntries = 200_000;
const mostMs = 2000;

class TooMuch extends Error {}

/** Looks for a quarantine at this path; a link is none. */
export function lookAtQuarantine(path: string, measure: Measure): QuarantineLook {
  try {
    if (!isPlainDirectory(dirname(path))) return { is: 'absent' };
    const quarantine = see(path, basename(path), measure);
    if (quarantine === null) return { is: 'absent' };
    return quarantine.isUnreadable ? { is: 'unreadable' } : { is: 'seen', quarantine };
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return { is: 'unreadable' };
  }
}

/**
 * Finds all quarantines in the objects of a unit, which lie at `objects`, and which of the listed ones are
 * gone.
 */
export function quarantinesOf(
  unit: string,
  listed: readonly ListedQuarantine[],
  measure: Measure,
  objects = `${unit}/objects`,
): FoundQuarantines {
  try {
    const names = new Set(quarantineNamesIn(objects));
    const places = new Map([...names].map(name => [name, `${objects}/${name}`]));
    for (const { name } of listed) {
      const place = quarantinePath(unit, name, objects);
      if (place !== null) places.set(name, place);
    }
    const there = [...places].flatMap(([name, place]) => see(place, name, measure) ?? []);
    const found = new Map(there.map(each => [each.name, each]));
    const gone = listed
      .filter(({ name, sample }) => {
        const seen = found.get(name);
        return seen === undefined || (sample !== null && !seen.isUnreadable && seen.bytes === 0);
      })
      .map(({ name, sample }) => ({ name, isTaken: sample !== null && isThere(`${objects}/${sample}`) }));
    return { there, gone };
  } catch (error) {
    if (systemCode(error) === null) throw error;
    // Without a readable directory, none is reported as there or gone.
    return noQuarantines;
  }
}

/** Finds the quarantines of units whose `objects` has changed since a time, in milliseconds since 1970. */
export function newQuarantines(
  units: readonly string[],
  since: number,
  measure: Measure,
  links: Links = new Map(),
): readonly { readonly unit: string; readonly there: readonly FoundQuarantine[] }[] {
  return units.flatMap(unit => {
    const objects = objectsPathOf(links, unit);
    const status = directoryStatus(objects);
    if (status === null || status.mtimeMs < since) return [];
    const { there } = quarantinesOf(unit, [], measure, objects);
    return there.length === 0 ? [] : [{ unit, there }];
  });
}

function quarantineNamesIn(objects: string): readonly string[] {
  return isPlainDirectory(objects) ? readdirSync(encodePath(objects)).filter(isQuarantine) : [];
}

/** Tells whether a path and its parent are directories; a link in place of either leads elsewhere. */
function isPlainDirectory(path: string): boolean {
  return [dirname(path), path].every(each => entryAt(each) === 'directory');
}

/** Returns null if no directory is there; throws the system's error if that cannot be determined. */
function see(place: string, name: string, measure: Measure): FoundQuarantine | null {
  beforeLook(place);
  const stats = lstatSync(encodePath(place), { bigint: true, throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) return null;
  const { dev, ino, birthtimeNs } = stats;
  const bornAt = birthtimeNs > 0n ? Number(birthtimeNs / 1_000_000n) : null;
  const known = { name, id: `${dev}:${ino}:${birthtimeNs}`, bornAt };
  try {
    return { ...known, ...contentOf(place, measure), isUnreadable: false };
  } catch (error) {
    if (!(error instanceof TooMuch) && systemCode(error) === null) throw error;
    return { ...known, bytes: 0, sample: null, isUnreadable: true };
  }
}

/** Adds up the files of a quarantine, without those that vanish meanwhile. */
function contentOf(place: string, measure: Measure): Pick<Quarantine, 'bytes' | 'sample'> {
  let bytes = 0;
  let entries = 0;
  let sample: string | null = null;
  const endsAt = performance.now() + mostMs;
  const pending = [''];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    for (const entry of listedEntries(place + folder)) {
      entries += 1;
      if (entries > mostEntries || performance.now() > endsAt) throw new TooMuch();
      const below = `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        if (below.split('/').length > mostDepth) throw new TooMuch();
        pending.push(below);
      }
      if (!entry.isFile() || packLock.test(below.slice(1))) continue;
      const stats = lstatSync(encodePath(place + below), { throwIfNoEntry: false });
      if (stats?.isFile() !== true) continue;
      bytes += measuredBytes(stats, measure);
      if (isObject(below.slice(1)) && (sample === null || below.startsWith('/pack/')))
        sample = below.slice(1);
    }
  }
  return { bytes, sample };
}

/** The entries of a directory; none where it is not there, or is a link. */
export function* listedEntries(directory: string) {
  try {
    beforeLook(directory);
    const stats = lstatSync(encodePath(directory), { throwIfNoEntry: false });
    if (stats?.isDirectory() === true) yield* list(directory, stats.size);
  } catch (error) {
    const code = systemCode(error);
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
  }
}

function isObject(path: string): boolean {
  if (emptyPacks.has(path)) return false;
  return /^pack\/pack-[0-9a-f]+\.pack$/.test(path) || /^[0-9a-f]{2}\/[0-9a-f]+$/.test(path);
}

function isThere(path: string): boolean {
  try {
    return lstatSync(encodePath(path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}
