/** The options of a scanner, and what its parts share. */

import type { Mounts, Unit } from '../layout/index.ts';
import type { Log } from '../log.ts';
import type { UnitPushes } from './counting.ts';
import type { DiskThreads } from './disk-threads.ts';
import type { KnownRoots, Sweep } from './roots.ts';
import type { Measurement, ScanContext, ScanSettings } from './task.ts';

/** The keeper of the figures, as far as the scanner has to ask it and to tell it. */
export interface Figures extends KnownRoots {
  /** The bytes that a unit counts, without what pushes add that are under way; undefined: it is not known. */
  knownBytes(path: string): number | undefined;
  /** The key of a unit's owner; of one whose owner no walk can find, the known one. Null: nobody owns it. */
  ownerKeyOf(unit: Unit): string | null;
  /** The next number in the order of things. */
  nextSeq(): number;
  /** Tells whether keys of app.ini are missing, so that units without storage stay as they are known. */
  missesKeys(): boolean;
  /** Takes a unit that was measured, or one that is known to be gone. */
  report(measurement: Measurement): void;
  /** Takes a sweep that got to its end. */
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
  /** After how long a disk is taken not to answer, where that is not half a minute. */
  readonly hungAfterMs?: number;
  /** The code of the walkers, where it is not that of this room. */
  readonly walkerCode?: URL;
}

/** The parts of a scanner that its other parts share. */
export interface ScannerParts {
  readonly options: ScannerOptions;
  readonly mounts: Mounts;
  readonly threads: DiskThreads;
  /** The storage to walk. */
  context(): ScanContext;
  /** The file of the scan cache; null where it is not to be used. */
  cacheFile(): string | null;
}
