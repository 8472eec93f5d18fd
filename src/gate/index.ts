/**
 * The gate: answers whether something may start, within a fraction of a millisecond.
 *
 * It asks the ledger's memory and nothing else. Only a path that no known unit holds is looked up on
 * the disk, elsewhere and with a deadline. For hooks that cannot reach the daemon, what is refused now is
 * published in a file beside the socket. That file is always whole, never wider readable than the socket is
 * usable, and no more than about a second behind. It is written at least every hour, so that its time tells
 * until when the daemon lived, and stays when the daemon ends. Where it cannot be written, the daemon goes
 * on, says so, and tries again.
 */

export { Gate, type GateLimits } from './gate.ts';
export { Refusals, type RefusalsOptions, refusedFile } from './refusals.ts';
export type { GateServices, Health, LocatedUnit, OfflineReport, RefusalRecord } from './services.ts';
