/** The options of a scanner, and what its parts share. */

import type { Mounts, Unit } from '../layout/index.ts';
import type { Log } from '../log.ts';
import type { UnitPushes } from './counting.ts';
import type { DiskThreads } from './disk-threads.ts';
import type { KnownRoots, Sweep } from './roots.ts';
import type { Measurement, ScanContext, ScanSettings } from './task.ts';

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

/** The parts of a scanner that its other parts share. */
export interface ScannerParts {
  readonly options: ScannerOptions;
  readonly mounts: Mounts;
  readonly threads: DiskThreads;
  /** The storage to walk. */
  context(): ScanContext;
  /** The file of the scan cache; null if it cannot be used. */
  cacheFile(): string | null;
}
