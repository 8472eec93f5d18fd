/**
 * What is wrong, as far as a running daemon can know, each with the line that mends it.
 *
 * `notReady` and `notes` are what /readyz answers with; `findings` is what doctor shows besides.
 */

export { type DaemonFindingCode, daemonFindings, type FindingEntry } from './catalog.ts';
export { findings } from './findings.ts';
export { commandLine, quoted } from './mend.ts';
export {
  type Listed,
  longWalks,
  notes,
  notReady,
  type Observed,
  type ObservedFleet,
  type ObservedRename,
  type OfflineTally,
  type TroubledPlace,
  type WaitedFor,
} from './observed.ts';
