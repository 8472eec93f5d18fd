/**
 * Quarantines: the directories below `objects` in which git holds what a push brings until it is accepted.
 *
 * git names them `tmp_objdir-incoming-XXXXXX` (`incoming-XXXXXX` before 2.32). The worker renames one to
 * `tmp_objdir-gone-XXXXXX` before it removes it.
 */

const pattern = /^(?:tmp_objdir-)?incoming-[A-Za-z0-9]{6}$/;

/** Tells whether this may be the name of a push's quarantine. */
export function isQuarantineName(name: string): boolean {
  return pattern.test(name);
}

/** A quarantine as it was seen. */
export interface Quarantine {
  readonly name: string;
  /** Device, inode and time of birth: another quarantine has another one. */
  readonly id: string;
  /** Regular files, by `[scan] MEASURE`. */
  readonly bytes: number;
  /** It has packs or loose objects, and not only the pack of no object. */
  readonly hasObjects: boolean;
  /** One pack or loose object in it, as a path below it; null: it has none. */
  readonly sample: string | null;
}
