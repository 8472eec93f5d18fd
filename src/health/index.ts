/**
 * Finds the problems that a running daemon can know about, each with its fix, and makes all findings.
 *
 * `notReady` and `notes` are the answer of /readyz; `findings` is what doctor shows in addition.
 */

export {
  commandLine,
  daemonFindings,
  doctorFindings,
  listed,
  makeFinding,
  quoted,
  unfollowedLink,
} from './catalog.ts';
export { findings } from './findings.ts';
export {
  hungDisks,
  keysMissing,
  notes,
  notReady,
  type Observed,
  type ObservedForge,
  type ObservedWorker,
  type WorkerPresence,
} from './observed.ts';
export { unownedKinds } from './sources.ts';
export { andWorker } from './worker.ts';
