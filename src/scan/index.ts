/**
 * The scanner: walks the units on this host's disks, on threads, and returns their sizes.
 *
 * Every unit is measured to the byte, whatever its names, depth and size. While a place cannot be read, the
 * larger of the known and the seen bytes counts, and the place is named. A gc raises nobody's usage. Nothing
 * here waits for a disk on the main thread, decides, or keeps figures.
 */

export { alternatesOf } from './alternates.ts';
export { Directories } from './directories.ts';
export { type DiskThreads, packThreads } from './disk-threads.ts';
export { CannotTell } from './pack-index.ts';
export {
  type FoundQuarantine,
  type FoundQuarantines,
  type ListedQuarantine,
  lookAtQuarantine,
  type Measure,
} from './quarantine.ts';
export type { Sweep } from './roots.ts';
export type { ScanRun } from './run.ts';
export { createScanner, type Scanner, type TemplatePlace, type WatchedDisk } from './scanner.ts';
export { type Schedule, startSchedule } from './schedule.ts';
export type { Figures, Measurement, PushFacts, ScannerOptions, UnitPushes } from './task.ts';
