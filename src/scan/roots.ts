/**
 * Decides after a sweep which known units are gone, and which are only out of reach.
 *
 * A unit is gone only if the directories above it were read and it was not there. If a storage root is
 * missing, went away during the sweep, or is another file system than before, its units are out of reach. So
 * they are if most of them are missing at once, for whatever reason: deletions on that scale have to be
 * confirmed.
 */

import { basename, dirname } from 'node:path';
import { isWithin, type Root } from '../layout/index.ts';
import { inSlices, type Work, workInSlices } from '../turns.ts';
import { areSame } from './file-system.ts';

/** A storage root at the end of a sweep. */
export interface SweptRoot extends Pick<Root, 'written' | 'path' | 'device' | 'inode' | 'fileSystem'> {
  /** Why no unit below it may be dropped; null if the root is as it should be. */
  readonly away: string | null;
  /**
   * Set for a missing directory that never had a known unit: `expected` if GitLab makes it beside its other
   * repositories when it needs it, `doubtful` otherwise. Null for any other root.
   */
  readonly unused: 'expected' | 'doubtful' | null;
}

/** Standing of a known unit after a sweep. */
type UnitStanding =
  | 'seen'
  /** Not there any more. */
  | 'gone'
  /** Below a place that could not be read. */
  | 'unread'
  /** Below a root that is missing, has become another file system, or lacks most of its units at once. */
  | 'away'
  /** No template matches it, and keys of app.ini are missing. */
  | 'unplaced';

export interface Sweep {
  /** Drawn before the first look at the disk. A unit with a later number was measured meanwhile. */
  readonly startSeq: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly finishedAt: number;
  /** Number of units that were found. */
  readonly units: number;
  /** Tells whether the units of all owners were measured, and not only of some. */
  readonly whole: boolean;
  /** An administrator confirmed that the missing units are gone. */
  readonly acceptMoved: boolean;
  readonly standing: (path: string) => UnitStanding;
  readonly roots: readonly SweptRoot[];
}

/** The identity of a root when its units were last found. */
type RootIdentity = Pick<Root, 'device' | 'inode' | 'fileSystem'>;

export interface KnownRoots {
  rootRecord(path: string): RootIdentity | undefined;
  /** The known units in and below a directory. */
  knownBelow(path: string): Iterable<string>;
}

/** The result of the search. */
interface SweepFindings {
  /** The units that are there. */
  readonly seen: ReadonlySet<string>;
  /** Known units with nothing at all at their paths. */
  readonly absent: ReadonlySet<string>;
}

interface KnownUnits {
  /** Paths of units, by the path of their root. */
  readonly byRoot: ReadonlyMap<string, readonly string[]>;
  /** Some known units are below no root; false unless a root is missing. */
  readonly areStrays: boolean;
}

/** Groups the known units by root, in slices, so that the event loop is not blocked. */
export async function knownByRoot(
  roots: readonly Root[],
  figures: Pick<KnownRoots, 'knownBelow'>,
): Promise<KnownUnits> {
  const byRoot = new Map<string, readonly string[]>();
  for (const { path } of roots) {
    const below: string[] = [];
    await inSlices(figures.knownBelow(path), unit => below.push(unit));
    byRoot.set(path, below);
  }
  const isMissing = roots.some(({ state }) => state === 'missing');
  return { byRoot, areStrays: isMissing && (await workInSlices(areStrays(roots, figures))) };
}

function* areStrays(roots: readonly Root[], figures: Pick<KnownRoots, 'knownBelow'>): Work<boolean> {
  for (const unit of figures.knownBelow('/')) {
    if (!roots.some(root => isWithin(unit, root.path))) return true;
    yield;
  }
  return false;
}

/** Decides the state of each root, from the roots before and after a sweep. */
export function sweptRoots(
  before: readonly Root[],
  after: readonly Root[],
  findings: SweepFindings,
  figures: Pick<KnownRoots, 'rootRecord'>,
  { byRoot, areStrays }: KnownUnits,
  acceptMoved: boolean,
): SweptRoot[] {
  return before.map(root => {
    const { written, path, device, inode, fileSystem } = root;
    const now = after.find(other => other.written === written);
    const known = byRoot.get(path) ?? [];
    const doubt = (): string | null =>
      acceptMoved ? null : doubtOf(isOther(root, figures.rootRecord(path)), known, findings);
    const isUnknown = known.length === 0;
    const isNew = root.state === 'missing' && isUnknown && figures.rootRecord(path) === undefined;
    // If known units are below no root, a link that is gone may have led to them.
    const isUnused = isNew && !areStrays;
    const isDropped = isUnused || (isDangling(root) && (acceptMoved || isUnknown));
    const away = isDropped
      ? null
      : root.state !== 'present'
        ? root.state
        : now?.path !== path || isChanged(root, now)
          ? 'changed meanwhile'
          : doubt();
    const isExpected = isUnused && isBesideOthers(path, before, findings.seen);
    const unused = isUnused ? (isExpected ? 'expected' : 'doubtful') : null;
    return { written, path, device, inode, fileSystem, away, unused };
  });
}

/** The directories that GitLab makes with the first snippet, and the first fork of a public project. */
const madeLater = ['@snippets', '@pools'];

function isBesideOthers(path: string, roots: readonly Root[], seen: ReadonlySet<string>): boolean {
  if (!madeLater.includes(basename(path))) return false;
  const beside = roots.filter(root => root.path !== path && dirname(root.path) === dirname(path));
  for (const unit of seen) if (beside.some(root => isWithin(unit, root.path))) return true;
  return false;
}

/** Tells whether a root is a link whose target is missing. */
export function isDangling({ isLink, state }: Root): boolean {
  return isLink === true && state === 'missing';
}

function isChanged(one: RootIdentity, other: RootIdentity): boolean {
  return (
    one.device !== other.device ||
    one.inode !== other.inode ||
    areSame(one.fileSystem, other.fileSystem) === false
  );
}

/** Returns the reason not to drop the missing units of a root; null if they may be dropped. */
function doubtOf(
  isOtherNow: boolean,
  known: readonly string[],
  { seen, absent }: SweepFindings,
): string | null {
  if (isOtherNow && known.length > 0 && !known.some(path => seen.has(path))) return 'another file system';
  const vanished = known.filter(path => absent.has(path)).length;
  if (!haveMostVanished(vanished, known.length)) return null;
  return `${vanished} of its ${known.length} known units are missing at once`;
}

/**
 * With fewer missing units, only the file system shows a replaced disk: an owner of three units may delete
 * them.
 */
const leastVanished = 10;

/** Tells whether so many known units of a root are missing that a lost disk is likelier than deletions. */
export function haveMostVanished(vanished: number, known: number): boolean {
  return vanished >= leastVanished && 2 * vanished > known;
}

/**
 * Tells whether a root is on another file system than recorded. If the identifiers of the file systems do not
 * tell, both device and inode must differ: the device alone may change with a restart of the host, the inode
 * alone with a directory made again.
 */
function isOther(root: RootIdentity, record: RootIdentity | undefined): boolean {
  if (record === undefined) return false;
  const isSame = areSame(root.fileSystem, record.fileSystem);
  return isSame === null ? root.device !== record.device && root.inode !== record.inode : !isSame;
}

/**
 * Returns a function that gives the standing of a known unit by its path. `absent` is given while keys of
 * app.ini are missing: then only a unit below a root, with nothing at all at its path, is gone.
 */
export function classifyKnownUnit(
  seen: ReadonlySet<string>,
  unread: ReadonlySet<string>,
  roots: readonly SweptRoot[],
  absent: ReadonlySet<string> | null = null,
): (path: string) => UnitStanding {
  return path => {
    if (seen.has(path)) return 'seen';
    const above = roots.filter(root => isWithin(path, root.path) || isWithin(path, root.written));
    // Below no root: its storage is not configured any more, unless a missing root led there by a link.
    const deciding = above.length > 0 ? above : roots;
    if (deciding.some(root => root.away !== null)) return 'away';
    if (isBelowAny(path, unread)) return 'unread';
    return absent === null || (above.length > 0 && absent.has(path)) ? 'gone' : 'unplaced';
  };
}

function isBelowAny(path: string, places: ReadonlySet<string>): boolean {
  for (let at = path; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) if (places.has(at)) return true;
  return places.has('/');
}
