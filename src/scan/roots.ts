/**
 * How the known units stand after a sweep: what may be dropped, and what is only out of sight.
 *
 * A unit may be dropped only where the directories above it were read and it was not there. Where
 * a storage root is missing, went away meanwhile, or is another file system than before, its units
 * are out of sight.
 */

import type { Root } from '../layout/index.ts';
import type { Standing, SweptRoot } from './measurement.ts';

/** What a root was when its units were last found. */
export interface RootIdentity {
  readonly device: bigint;
  readonly inode: bigint;
}

export interface RootQuestions {
  readonly rootRecord: (path: string) => RootIdentity | undefined;
  /** The known units in and below a directory. */
  readonly knownBelow: (path: string) => Iterable<string>;
}

/** The roots, from what they were before and after a sweep that has `seen` these units. */
export function sweptRoots(
  before: readonly Root[],
  after: readonly Root[],
  seen: ReadonlySet<string>,
  { rootRecord, knownBelow }: RootQuestions,
  acceptMoved: boolean,
): SweptRoot[] {
  return before.map(root => {
    const { written, path, device, inode } = root;
    const now = after.find(other => other.written === written);
    const isMoved = (): boolean =>
      !acceptMoved && isOther(root, rootRecord(path)) && isOutOfSight(knownBelow(path), seen);
    const away =
      root.state !== 'present'
        ? root.state
        : now?.path !== path || now.device !== device || now.inode !== inode
          ? 'changed meanwhile'
          : isMoved()
            ? 'another file system'
            : null;
    return { written, path, device, inode, away };
  });
}

/**
 * Whether a directory is another one on another file system. The device alone may change with a
 * restart of the machine, the inode alone with a directory made anew.
 */
export function isOther(root: RootIdentity, record: RootIdentity | undefined): boolean {
  return record !== undefined && root.device !== record.device && root.inode !== record.inode;
}

/** Whether there are such units, and none was seen. */
function isOutOfSight(known: Iterable<string>, seen: ReadonlySet<string>): boolean {
  let hasSome = false;
  for (const path of known) {
    if (seen.has(path)) return false;
    hasSome = true;
  }
  return hasSome;
}

/** How any unit stands, known by its path. */
export function standingAfter(
  seen: ReadonlySet<string>,
  unread: ReadonlySet<string>,
  roots: readonly SweptRoot[],
): (path: string) => Standing {
  return path => {
    if (seen.has(path)) return 'seen';
    const above = roots.filter(root => isWithin(path, root.path) || isWithin(path, root.written));
    // Below no root: its storage is not configured any more, unless a missing root led there by a link.
    const deciding = above.length > 0 ? above : roots;
    if (deciding.some(root => root.away !== null)) return 'away';
    return isBelowAny(path, unread) ? 'unread' : 'gone';
  };
}

function isBelowAny(path: string, places: ReadonlySet<string>): boolean {
  for (let at = path; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) if (places.has(at)) return true;
  return places.has('/');
}

/** Whether a path is that of a directory or lies below it. */
export function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith('/') ? directory : `${directory}/`);
}
