/** The options of a scanner. */

import type { Log } from '../log.ts';
import type { DiskThreads } from './disk-threads.ts';
import type { Hangs } from './hangs.ts';
import type { Measurement, Sweep } from './measurement.ts';
import type { ScanContext, ScanSettings } from './messages.ts';
import type { Mounts } from './mounts.ts';
import type { KnownRoots } from './roots.ts';
import type { UnitPushes } from './unit-counts.ts';

export interface ScannerOptions extends ScanSettings, KnownRoots {
  /** Number of threads that walk. */
  readonly workers: number;
  /** The file of the scan cache; its directory must exist. */
  readonly cacheFile: string;
  /** The bytes that a unit counts, without what pushes add that are under way. */
  readonly knownBytes: (path: string) => number | undefined;
  /** The pushes into units; there are none, unless given. */
  readonly pushes?: UnitPushes;
  /** The key function for names of owners. */
  readonly ownerKey: (name: string) => string;
  /** The known owner of the unit at a path, where a walk cannot find one. */
  readonly ownerAt: (path: string) => string | null;
  /** The next number in the order of things. */
  readonly nextSeq: () => number;
  /** Called for every unit that was measured, and for one that is known to be gone. */
  readonly report: (measurement: Measurement) => void;
  /** Called at the end of a sweep that got to its end. */
  readonly swept: (sweep: Sweep) => void | Promise<void>;
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
  readonly hangs: Hangs;
  readonly threads: Pick<DiskThreads, 'ask' | 'askAround'>;
  /** After how long a disk is taken not to answer. */
  readonly hungAfterMs: number;
  /** The storage to walk. */
  context(): ScanContext;
  /** The file of the scan cache; null where it is not to be used. */
  cacheFile(): string | null;
}
