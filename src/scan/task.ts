/** Types of the tasks of walkers and of their results, all plain data. */

import type { Layout, PlacedUnit, StorageSettings, Unread } from '../layout/index.ts';
import type { RepackSigns } from './gitfiles.ts';
import type { FoundQuarantines, ListedQuarantine, Measure } from './quarantine.ts';

/** The storage to walk. */
export interface ScanSettings {
  readonly storages: readonly StorageSettings[];
  /** Names of directories that are left out. */
  readonly exclude: readonly string[];
  readonly measure: Measure;
}

/** The storage to walk, as configured and as it is on the disk. */
export interface ScanContext extends ScanSettings {
  readonly layout: Layout;
}

export interface SweepTask extends PlacedUnit {
  /** Tells whether a current signature may replace the walk; in a verify none may. */
  readonly trustsSignature: boolean;
}

/** One thing for a walker to do. */
export type Task =
  /** Walk this unit. */
  | SweepTask
  /** Find out which unit is at this path now, and walk it. */
  | { readonly path: string };

/** The time when a task was handed out, never later than the beginning of its walk. */
export interface Start {
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly monotonicMs: number;
}

export interface WalkTerms {
  /** The last known bytes of the unit; null: it is new. */
  readonly knownBytes: number | null;
  /** Tells whether a current signature may replace the walk; false unless given. */
  readonly trustsSignature?: boolean;
  /** Known quarantines of pushes, inspected right before and right after the walk; none unless given. */
  readonly quarantines?: readonly ListedQuarantine[];
  /** Tells whether this host's clock sets the times of changes there; true unless given. */
  readonly hasOwnTimes?: boolean;
}

export interface WalkRequest extends PlacedUnit, WalkTerms {
  /** Names of directories that are left out. */
  readonly exclude: ReadonlySet<string>;
  readonly measure: Measure;
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

/** The result of a walk that read all of a unit, as a signature keeps it. */
export interface FoundByWalk {
  readonly bytes: number;
  /** Regular files that were counted. */
  readonly files: number;
  readonly directories: number;
  /** See `WalkedObjects`; 0 where it is no repository. */
  readonly objectBytes: number;
}

/** The first entries of a list, and the number of all. */
export interface CountedList<Entry> {
  readonly first: readonly Entry[];
  readonly count: number;
}

export const nothingListed: CountedList<never> = { first: [], count: 0 };

export interface Walked extends Omit<FoundByWalk, 'objectBytes'> {
  /** `too large`: `bytes` is 0. */
  readonly outcome: 'measured' | 'too large';
  /** Some of it could not be read: `bytes` is not less than what was known. */
  readonly partial: boolean;
  readonly unread: CountedList<Unread>;
  readonly leftovers: CountedList<Leftover>;
  /** Null: the unit is no repository. */
  readonly objects: WalkedObjects | null;
}

export interface WalkedUnit extends Walked, PlacedUnit {}

/** The directory is gone, or was gone or replaced during the walk. */
export interface Vanished {
  readonly outcome: 'vanished';
}

export type TaskResult =
  | WalkedUnit
  | Vanished
  /** No unit is at this path. */
  | { readonly outcome: 'none'; readonly layout: Layout }
  /** Nobody can tell whether a unit is there. */
  | { readonly outcome: 'unread'; readonly path: string; readonly error: string }
  /** A bug, or a thread that ended. */
  | { readonly outcome: 'failed'; readonly why: string }
  /** The disk does not answer at this path. */
  | { readonly outcome: 'hung'; readonly path: string }
  | { readonly outcome: 'stopped' };

/**
 * A unit as one walk found it, or the path of a unit that is gone. `seq` orders the measurements of a path;
 * it was drawn before the walk began.
 */
export type Measurement =
  | (MeasuredUnit & { readonly gone?: never })
  | { readonly gone: string; readonly seq: number };

/** A walked unit, with the bytes that count. */
interface MeasuredUnit extends WalkedUnit {
  readonly seq: number;
  /** The beginning of the walk, in milliseconds since 1970. */
  readonly measuredAt: number;
}
