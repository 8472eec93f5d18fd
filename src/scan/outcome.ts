/** The request for a walk, and its result. */

import type { Unit } from '../layout/index.ts';
import type { FormerOwner } from './former-owners.ts';

/** The size of a file that counts: its length, or its blocks. */
export type Measure = 'apparent' | 'allocated';

export interface WalkRequest {
  readonly unit: Unit;
  /** The places inside that are not the unit's own. */
  readonly inner: readonly string[];
  /** Names of directories that are left out. */
  readonly exclude: ReadonlySet<string>;
  readonly measure: Measure;
  /** The bytes that the unit is known with; null where it is new. */
  readonly knownBytes: number | null;
  /**
   * Tells whether the listing of `objects` is believed (see `listing-check.ts`). Directories of loose objects
   * are then read whole, so they must not be large.
   */
  readonly believesListing?: boolean;
}

export interface UnreadInUnit {
  readonly path: string;
  /** The system's code. */
  readonly error: string;
}

/** A file that git began more than an hour ago and never finished. */
export interface Leftover {
  readonly path: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

/**
 * Tells whether git may have held the same objects twice while the walk went by, so that a rise need not
 * be one: `collected` by a gc or repack at work, `changed` meanwhile, or `fresh`, packs having come or gone
 * just before that may be those of a repack.
 */
export type PacksDuringWalk = 'still' | 'fresh' | 'changed' | 'collected';

export interface Walked {
  readonly outcome: 'measured' | 'too large';
  /** 0 where it is too large. */
  readonly bytes: number;
  readonly files: number;
  readonly directories: number;
  readonly partial: boolean;
  /** The first of them. */
  readonly unread: readonly UnreadInUnit[];
  readonly unreadCount: number;
  /** The first of them. */
  readonly leftovers: readonly Leftover[];
  readonly leftoverCount: number;
  readonly packs: PacksDuringWalk;
  /** Differs where packs came or went between two walks. */
  readonly packsIdentity: string;
  /** Tell each gc or repack that was at work from others; empty unless `packs` is `collected`. */
  readonly collectors: readonly string[];
  /** Without all that those may be holding twice. */
  readonly certainBytes: number;
  /** The bytes of packs and loose objects; only a cleanup reduces them. */
  readonly objectBytes: number;
  /** The owners of its directory before, where they seem to have been renamed; the first one first. */
  readonly formerOwners: readonly FormerOwner[];
  /** Why the file system did not give the unit's size, so that it is in `bytes` as it was known. */
  readonly rulerFault?: string;
}

/** Nothing has changed since an earlier walk, whose figures these are. */
export interface Unchanged
  extends Pick<Walked, 'bytes' | 'files' | 'directories' | 'objectBytes' | 'formerOwners'> {
  readonly outcome: 'unchanged';
}

export type WalkOutcome =
  | Walked
  /** The directory is not there any more, or another one is, or another one came in it meanwhile. */
  | { readonly outcome: 'vanished' }
  | { readonly outcome: 'stopped' };
