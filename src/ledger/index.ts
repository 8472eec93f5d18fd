/**
 * The usage ledger: has the usage of every owner in memory, consistent with the store, decides at once, and
 * records measurements.
 *
 * Asking reads memory and never waits. While the store cannot be written, the ledger keeps answering and
 * counting, keeps the unwritten data, and reports it.
 */

export type { Action } from './admissions.ts';
export type { OwnerDecision, OwnerUsage } from './answer.ts';
export type { Clock } from './clock.ts';
export { Ledger } from './ledger.ts';
export type { LedgerSettings } from './options.ts';
export type { Origins } from './origins.ts';
export type { Reach } from './reach.ts';
export { ReconcileLoop } from './reconcile-loop.ts';
export { renamedOwners } from './renamed-owners.ts';
export type { Reservation } from './reservations.ts';
export type { KnownUnit, UsageShares } from './shares.ts';
export { forgeSource } from './source-share.ts';
export type { SourceReport } from './unit-sources.ts';
export type { OwnerSize } from './usage-index.ts';
export type { WalkedRecord } from './walks.ts';
