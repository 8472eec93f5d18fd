/**
 * The gate: answers whether an action may start, within a fraction of a millisecond.
 *
 * It asks only the ledger's memory. Only a path outside of all known units is looked up on the disk, on
 * another thread and with a deadline. For hooks that cannot reach the daemon, the gate writes the list of
 * refused owners to a file next to the socket. That file is always complete, readable only for users who can
 * use the socket, and at most about a second old. It is written at least every hour, so that its time shows
 * until when the daemon lived, and it stays when the daemon ends. If it cannot be written, the daemon
 * continues, reports it, and tries again.
 */

export { type Gate, openGate, openGateAt } from './gate.ts';
export { PushQuestions } from './push/push.ts';
export { Refusals } from './refusals.ts';
export type {
  AllowedPush,
  GateServices,
  LocatedUnit,
  PushServices,
  PushWorker,
  Room,
  UploadSettings,
} from './services.ts';
export { noRoom } from './services.ts';
export { WorkerLink } from './worker.ts';
