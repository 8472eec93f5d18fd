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
  readonly trustsSignature: boolean;
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
  readonly trustsSignature: boolean;
  /** See `WalkRequest`. */
  readonly hasOwnTimes: boolean;
  readonly quarantines: readonly ListedQuarantine[];
}

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
  | { readonly outcome: 'failed'; readonly why: string }
  /** The disk does not answer at this path. */
  | { readonly outcome: 'hung'; readonly path: string }
  | { readonly outcome: 'stopped' };

/** The results of some tasks, by their ids. Most units are as they were, and then the message is small. */
export interface WalkReport {
  readonly results: readonly (readonly [id: number, result: TaskResult | Unchanged])[];
  /** Why the cache could not be used. */
  readonly cacheFaults: readonly string[];
}

/** The figures of the file system of a path; bytes over 2^53 - 1 are given as that number. */
export interface DiskSpace {
  readonly device: bigint;
  readonly sizeBytes: number;
  readonly freeBytes: number;
  readonly sizeFiles: number;
  readonly freeFiles: number;
}

/** The start parameters of a thread. */
export interface IoWorkerStart {
  readonly shared: SharedArrayBuffer;
}

export interface IoWorkerRequest {
  readonly question: WorkerQuestion;
  /** The directories below which disks do not answer. */
  readonly avoided: readonly string[];
}

/** Questions to a thread, which answers one at a time. */
export type WorkerQuestion =
  | { readonly ask: 'prepare cache'; readonly file: string }
  | {
      readonly ask: 'resolve';
      readonly storages: readonly StorageSettings[];
      readonly exclude: readonly string[];
    }
  | { readonly ask: 'discover'; readonly layout: Layout }
  | { readonly ask: 'absent'; readonly paths: readonly string[] }
  | { readonly ask: 'empty cache'; readonly file: string }
  | { readonly ask: 'disk'; readonly path: string }
  /** To look at the directories above the units for a moment, as a thread does that is asked nothing else. */
  | { readonly ask: 'watch'; readonly layout: Layout; readonly roots: readonly Root[] }
  | {
      readonly ask: 'walk';
      readonly context: ScanContext;
      /** Null where the cache is not to be used. */
      readonly cacheFile: string | null;
      readonly tasks: readonly NumberedTask[];
    }
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

/** The answers of a thread, by question. */
export interface WorkerAnswers {
  /** Why the cache had to be made again; null where it had not. */
  'prepare cache': string | null;
  /** With the marks of the roots' file systems. */
  resolve: Layout;
  /** After all has been found. */
  discover: null;
  /** Those of the paths at which there is nothing. */
  absent: readonly string[];
  'empty cache': null;
  locate: Located;
  /** Null where there is nothing at the path. */
  disk: DiskSpace | null;
  watch: Watched;
  /** The last results; what none of them is of was not begun. */
  walk: WalkReport;
  quarantine: QuarantineSight;
  quarantines: FoundQuarantines;
  'new quarantines': ReturnType<typeof newQuarantines>;
  /** Null: they cannot be read. */
  'existing names': readonly string[] | null;
  'denies force': boolean;
  repositories: readonly (RepositoryThere | null)[];
}

/** Parts of answers, by question, which come before the answer. */
export interface WorkerParts {
  discover: readonly Discovered[];
  walk: WalkReport;
}

/** The part of an answer to this question. */
export type PartOf<Ask> = Ask extends keyof WorkerParts ? WorkerParts[Ask] : never;

export type IoWorkerReport =
  | { readonly type: 'part'; readonly part: PartOf<WorkerQuestion['ask']> }
  | { readonly type: 'answer'; readonly answer: WorkerAnswers[keyof WorkerAnswers] }
  | { readonly type: 'failed'; readonly why: string };

/** The directories that a pass could not check below a root. */
export interface Missed {
  readonly root: string;
  /** Paths at which there may have been units. */
  readonly gone: readonly string[];
  /** Many of the root's units went at once, so its disk may have: none of them is in `gone`. */
  readonly hasVanished: boolean;
}

/** The findings of a moment of watching. */
export interface Watched {
  /** Units that were not there, or were others; in the first pass all there are. */
  readonly found: readonly string[];
  /** Null: the pass goes on. */
  readonly pass: { readonly missed: readonly Missed[]; readonly directories: number } | null;
  /** Time that it took. */
  readonly milliseconds: number;
}
