/** The messages between the threads of this module. All of them are plain data. */

import type { Discovered, Layout, Located, PlacedUnit, Root, StorageSettings } from '../layout/index.ts';
import type { RepositoryThere } from './directory-names.ts';
import type { Unchanged, Walked } from './outcome.ts';
import type {
  FoundQuarantines,
  ListedQuarantine,
  Measure,
  newQuarantines,
  QuarantineSight,
} from './quarantine.ts';

/** The storage to walk. */
export interface ScanSettings {
  readonly storages: readonly StorageSettings[];
  /** Names of directories that are left out. */
  readonly exclude: readonly string[];
  readonly measure: Measure;
}

/** The units to walk, and how: as configured, and as they are on the disk. */
export interface ScanContext extends ScanSettings {
  readonly layout: Layout;
}

export interface SweepTask extends PlacedUnit {
  /** Tells whether the signature of an earlier walk may stand for this one; in a verify none may. */
  readonly trustsSignature?: boolean;
  /** It is a unit only if it holds a repository, for which nobody has looked yet. */
  readonly isAssumed?: boolean;
}

/** One thing for a walker to do. */
export type Task =
  /** Walk this unit. */
  | SweepTask
  /** Find out which unit is at this path now, and walk it. */
  | { readonly path: string };

export interface NumberedTask {
  readonly id: number;
  readonly task: Task;
  readonly knownBytes: number | null;
  /** Number of files that the unit is known to have; null if unknown, or not to be relied on. */
  readonly knownFiles: number | null;
  /** See `WalkRequest`. */
  readonly hasOwnTimes: boolean;
  readonly quarantines: readonly ListedQuarantine[];
}

export type WalkerRequest =
  | {
      readonly type: 'batch';
      readonly context: ScanContext;
      readonly tasks: readonly NumberedTask[];
      /** The directories below which disks do not answer. */
      readonly avoided: readonly string[];
    }
  | { readonly type: 'close' };

export interface WalkedUnit extends Walked, PlacedUnit {}

export type TaskResult =
  | WalkedUnit
  /** It was there, and went while it was walked. */
  | { readonly outcome: 'vanished' }
  /** No unit is at this path. */
  | { readonly outcome: 'none'; readonly layout: Layout }
  /** Tells whether a unit is there could not be told. */
  | { readonly outcome: 'unread'; readonly path: string; readonly error: string }
  /** A mistake of ours, or a thread that ended. */
  | { readonly outcome: 'failed'; readonly why: string; readonly stack?: string | undefined }
  /** The disk does not answer at this path. */
  | { readonly outcome: 'hung'; readonly path: string }
  | { readonly outcome: 'stopped' };

/** The result of one task. Most units are as they were, and then the message is small. */
export type WalkerResult = TaskResult | Unchanged;

export interface NumberedResult {
  readonly id: number;
  readonly result: WalkerResult;
}

export type WalkerReport =
  | {
      readonly type: 'results';
      readonly results: readonly NumberedResult[];
      /** More of them, of units that are unchanged; see `unchanged.ts`. */
      readonly unchanged: readonly number[];
      /** The batch is over; what it gave no result for was handed back. */
      readonly isLast: boolean;
    }
  | { readonly type: 'cache fault'; readonly why: string };

/** The start parameters of a walker. */
export interface WalkerStart {
  readonly shared: SharedArrayBuffer;
  readonly cacheFile: string | null;
}

/** The figures of the file system of a path; bytes over 2^53 - 1 are given as that number. */
export interface DiskSpace {
  readonly device: bigint;
  readonly sizeBytes: number;
  readonly freeBytes: number;
  readonly sizeFiles: number;
  readonly freeFiles: number;
}

/** The start parameters of an I/O worker. */
export interface IoWorkerStart {
  readonly shared: SharedArrayBuffer;
}

export interface IoWorkerRequest {
  readonly question: WorkerQuestion;
  /** The directories below which disks do not answer. */
  readonly avoided: readonly string[];
}

/** Questions to an I/O worker, a thread that answers one at a time. */
export type WorkerQuestion =
  | { readonly ask: 'prepare cache'; readonly file: string }
  | {
      readonly ask: 'resolve';
      readonly storages: readonly StorageSettings[];
      readonly exclude: readonly string[];
    }
  | { readonly ask: 'discover'; readonly layout: Layout; readonly assumes: boolean }
  | { readonly ask: 'discover at'; readonly layout: Layout; readonly paths: readonly string[] }
  | { readonly ask: 'absent'; readonly paths: readonly string[] }
  | { readonly ask: 'prune cache'; readonly file: string; readonly keep: readonly string[] }
  | { readonly ask: 'disk'; readonly path: string }
  | LookQuestion;

/** Questions about one place, whose answers somebody waits for. */
export type LookQuestion =
  | { readonly ask: 'locate'; readonly context: ScanContext; readonly path: string }
  | {
      readonly ask: 'quarantine';
      readonly objectsDirectory: string;
      readonly name: string;
      readonly measure: Measure;
    }
  | {
      readonly ask: 'quarantines';
      readonly unit: string;
      readonly listed: readonly ListedQuarantine[];
      readonly measure: Measure;
    }
  | {
      readonly ask: 'new quarantines';
      readonly units: readonly string[];
      /** Milliseconds since 1970. */
      readonly since: number;
      readonly measure: Measure;
    }
  | { readonly ask: 'existing names'; readonly unit: string; readonly names: readonly string[] }
  | { readonly ask: 'denies force'; readonly unit: string }
  | { readonly ask: 'repositories'; readonly paths: readonly string[] };

/** The answers of an I/O worker, by request. */
export interface WorkerAnswers {
  /** Why the cache had to be made again; null where it had not. */
  'prepare cache': string | null;
  /** With the marks of the roots' file systems. */
  resolve: Layout;
  /** After all has been found. */
  discover: null;
  'discover at': null;
  /** Those of the paths at which there is nothing. */
  absent: readonly string[];
  'prune cache': null;
  locate: Located;
  /** Null where there is nothing at the path. */
  disk: DiskSpace | null;
  quarantine: QuarantineSight;
  quarantines: FoundQuarantines;
  'new quarantines': ReturnType<typeof newQuarantines>;
  /** Null: they cannot be read. */
  'existing names': readonly string[] | null;
  'denies force': boolean;
  repositories: readonly (RepositoryThere | null)[];
}

export type IoWorkerReport =
  | { readonly type: 'found'; readonly found: readonly Discovered[] }
  | { readonly type: 'answer'; readonly answer: WorkerAnswers[keyof WorkerAnswers] }
  | { readonly type: 'failed'; readonly why: string };

/** The start parameters of a watcher: the roots whose directories it watches. */
export interface WatcherStart extends WatcherRequest {
  readonly layout: Layout;
  readonly roots: readonly Root[];
  readonly shared: SharedArrayBuffer;
}

/** Has a watcher go on. */
export interface WatcherRequest {
  /** The directories below which nobody is to look. */
  readonly avoided: readonly string[];
}

/** The directories that a pass could not check below a root. */
export interface Missed {
  readonly root: string;
  /** Paths at which there may have been units. */
  readonly gone: readonly string[];
  /** Many of the root's units went at once, so its disk may have: none of them is in `gone`. */
  readonly hasVanished: boolean;
}

/** Each is to be answered with a `WatcherRequest`. */
export type WatcherReport =
  /** Units that were not there, or were others; in the first pass all there are. */
  | { readonly type: 'found'; readonly paths: readonly string[] }
  | {
      readonly type: 'pass';
      readonly missed: readonly Missed[];
      readonly directories: number;
      readonly milliseconds: number;
    };
