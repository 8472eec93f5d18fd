/** The request for a walk, and its result. */

import type { PlacedUnit, Unread } from '../layout/index.ts';
import type { FoundQuarantines, ListedQuarantine, Measure } from './quarantine.ts';
import type { RepackSigns } from './repack-signs.ts';

/** The time when a task was handed out, never later than the beginning of its walk. */
export interface Start {
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly monotonicMs: number;
}

export interface WalkRequest extends PlacedUnit {
  /** Names of directories that are left out. */
  readonly exclude: ReadonlySet<string>;
  readonly measure: Measure;
  /** The bytes that the unit is known with; null where it is new. */
  readonly knownBytes: number | null;
  /**
   * Known quarantines of pushes, which are looked at right before and right after the walk; none, unless
   * given.
   */
  readonly quarantines?: readonly ListedQuarantine[];
  /** Tells whether this host's own clock tells when something changed there; it does, unless given. */
  readonly hasOwnTimes?: boolean;
}

/** A file that git began more than an hour ago and never finished. */
export interface Leftover {
  readonly path: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

/** The objects of a repository. */
export interface WalkedObjects {
  /** Their bytes, without quarantines and unfinished files. */
  readonly bytes: number;
  readonly signs: RepackSigns;
  /** The quarantines right before the walk, and right after it. */
  readonly before: FoundQuarantines;
  readonly after: FoundQuarantines;
}

export interface Walked {
  readonly outcome: 'measured' | 'too large';
  /** 0 where it is too large. */
  readonly bytes: number;
  /** Regular files that were counted. */
  readonly files: number;
  readonly directories: number;
  /** Some of it could not be read: `bytes` is not less than what was known. */
  readonly partial: boolean;
  /** The first of them. */
  readonly unread: readonly Unread[];
  readonly unreadCount: number;
  /** The first of them. */
  readonly leftovers: readonly Leftover[];
  readonly leftoverCount: number;
  /** Null: the unit is no repository, or was not walked through; what was seen is what counts. */
  readonly objects: WalkedObjects | null;
}

/** The result of a walk that read all of a unit, as far as it is kept. */
export interface FoundByWalk extends Pick<Walked, 'bytes' | 'files' | 'directories'> {
  /** See `WalkedObjects`; 0 where it is no repository. */
  readonly objectBytes: number;
}

/** Nothing has changed since an earlier walk, whose figures these are. */
export interface Unchanged extends FoundByWalk {
  readonly outcome: 'unchanged';
}

export type WalkOutcome =
  | Walked
  /** The directory is not there any more, or another one is, or another one came in it meanwhile. */
  | { readonly outcome: 'vanished' }
  | { readonly outcome: 'stopped' };
