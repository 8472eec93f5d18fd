/**
 * Types of what a scanner is given, of the tasks of its walkers and of their results. Tasks and results are
 * plain data.
 */

import type { Layout, PlacedUnit, StorageSettings, Unit, Unread } from '../layout/index.ts';
import type { Log } from '../log.ts';
import type { RepackSigns } from './gitfiles.ts';
import type { FoundQuarantines, ListedQuarantine, Measure } from './quarantine.ts';
import type { KnownRoots, Sweep } from './roots.ts';

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

export type TaskResult =
  | WalkedUnit
  /** The directory is gone, or was gone or replaced during the walk. */
  | { readonly outcome: 'vanished' }
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

/** Facts about pushes that a walk needs. */
export interface PushFacts {
  /** Bytes of pushes that ended between the beginnings of the last walk and of this one. */
  readonly takenBytes: number;
  /** A push ended during the walk, or may have. */
  readonly hasEnded: boolean;
  /** The bytes of a push that ended before the walk are unknown. */
  readonly isUnsure: boolean;
}

/** Access to the pushes into units, for walks. */
export interface UnitPushes {
  /** Returns the quarantines that a walk inspects right before and right after it. */
  listed(path: string): readonly ListedQuarantine[];
  /**
   * Records the end of a walk with this number, whose figure includes earlier pushes. Returns the facts about
   * pushes that its count needs.
   */
  walked(path: string, seq: number, walk: Pick<WalkedObjects, 'before' | 'after'>): PushFacts;
}

/** The keeper of the figures, as the scanner needs it. */
export interface Figures extends KnownRoots {
  /** The bytes of a unit without those of pushes under way; undefined: the unit is not known. */
  knownBytes(path: string): number | undefined;
  /** The key of a unit's owner; the last known one if no walk can find the owner. Null: nobody owns it. */
  ownerKeyOf(unit: Unit): string | null;
  /** Draws the next number, which orders walks and pushes. */
  nextSeq(): number;
  /** Tells whether keys of app.ini are missing; meanwhile units without storage keep their figures. */
  missesKeys(): boolean;
  /** Records a measured unit, or one that is gone. */
  report(measurement: Measurement): void;
  /** Records a sweep that was finished. */
  swept(sweep: Sweep): void | Promise<void>;
  readonly pushes: UnitPushes;
}

export interface ScannerOptions extends ScanSettings {
  /** Number of threads that walk. */
  readonly workers: number;
  /** The file of the scan cache; its directory must exist. */
  readonly cacheFile: string;
  readonly figures: Figures;
  readonly log: Log;
  /** Tells whether units that are made, removed or renamed are noticed between sweeps. */
  readonly isWatched?: boolean;
  /** Time without progress after which a disk counts as hanging; half a minute unless given. */
  readonly hungAfterMs?: number;
  /** The code of the walker threads, if it is not the usual one. */
  readonly walkerCode?: URL;
}
