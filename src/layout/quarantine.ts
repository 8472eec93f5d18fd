/**
 * Quarantines: the directories in which git stores the objects of a push until it is accepted.
 *
 * git makes them below `objects`, named `tmp_objdir-incoming-XXXXXX` (`incoming-XXXXXX` before 2.32). The
 * worker renames one to `tmp_objdir-gone-XXXXXX` before it removes it. Gitaly has two more places below its
 * storage: one for edits and merges, named after the repository, and `objects` in the snapshot of a
 * transaction. Here, these quarantines are named by their paths below the storage.
 */

import { createHash } from 'node:crypto';
import { dirname } from 'node:path';

const pattern = /^(?:tmp_objdir-)?incoming-[A-Za-z0-9]{6}$/;
const ofEdit = /^\+gitaly\/tmp\/quarantine-([0-9a-f]{16})-\d{1,20}$/;
const ofSnapshot =
  /^\+gitaly\/snapshots\/[\w-]{1,64}\/[\w-]{1,64}\/(.+)\/objects\/(?:tmp_objdir-)?incoming-[A-Za-z0-9]{6}$/s;

/** Tells whether this may be the name of a push's quarantine below `objects`. */
export function isQuarantineName(name: string): boolean {
  return pattern.test(name);
}

/**
 * Returns the path of a unit's quarantine; null if no quarantine of this unit can have that name. Gitaly
 * names quarantines of edits after the path of their repository, so that one cannot be taken for another's.
 * `objects`: see `objectsPathOf`.
 */
export function quarantinePath(unit: string, name: string, objects = `${unit}/objects`): string | null {
  if (isQuarantineName(name)) return `${objects}/${name}`;
  const [, ofRepository] = ofEdit.exec(name) ?? [];
  if (ofRepository !== undefined) {
    const storage = storageNaming(unit, ofRepository);
    return storage === null ? null : `${storage}/${name}`;
  }
  const [, below] = ofSnapshot.exec(name) ?? [];
  if (below === undefined || !unit.endsWith(`/${below}`)) return null;
  // `below` is the end of the unit's own path, so it has no `..`.
  return `${unit.slice(0, -below.length)}${name}`;
}

/** Finds the storage above the unit: the hash is that of the unit's path below it. Null if there is none. */
function storageNaming(unit: string, hash: string): string | null {
  for (let storage = dirname(unit); storage !== '/'; storage = dirname(storage)) {
    const below = unit.slice(storage.length + 1);
    if (createHash('sha1').update(below).digest('hex').startsWith(hash)) return storage;
  }
  return null;
}

/** The measured state of a quarantine. */
export interface Quarantine {
  readonly name: string;
  /** Device, inode and time of birth, which tell it from another quarantine of the same name. */
  readonly id: string;
  /** Bytes of regular files, by `[scan] MEASURE`. */
  readonly bytes: number;
  /** One pack or loose object in it, as a path below it; null: none, except perhaps a pack of no object. */
  readonly sample: string | null;
}

export type QuarantineLook =
  | { readonly is: 'seen'; readonly quarantine: Quarantine }
  | { readonly is: 'absent' }
  /** Neither the daemon nor the worker may read it, or neither did in time. */
  | { readonly is: 'unreadable' };

/** A file that a push brings. */
export interface LargeBlob {
  /** The id of its content. */
  readonly object: string;
  /** Its size in a checkout, as `git cat-file -s` says it. */
  readonly bytes: number;
}

export type LargeBlobsLook =
  /** The largest files over a size, the largest first; empty if there are none. */
  | { readonly is: 'seen'; readonly blobs: readonly LargeBlob[] }
  /** The files cannot be found out in time, or not at all. */
  | { readonly is: 'unknown'; readonly why: string };
