/**
 * The gate: answers whether something may start, within a fraction of a millisecond.
 *
 * It asks the ledger's memory and nothing else. Only a path that no known unit holds is looked up on
 * the disk, elsewhere and with a deadline.
 */

export { Gate, type GateLimits } from './gate.ts';
export type { GateServices, Health, PlacedUnit, RefusalRecord, UnaskedReport } from './services.ts';
