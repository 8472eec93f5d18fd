/**
 * What every owner stores, in memory, true to the store: decides at once, and records what is measured.
 *
 * Asking reads memory and never waits. While the store is away the ledger goes on answering and
 * counting, keeps what it could not write, and says so.
 */

export type { OwnerDecision, OwnerUsage } from './answer.ts';
export type { Clock } from './clock.ts';
export { Ledger } from './ledger.ts';
export type { LedgerOptions, LedgerSettings, ReadableUnits } from './options.ts';
export { ReconcileLoop, type ReconcileLoopOptions } from './reconcile-loop.ts';
export type { KnownUnit, UsageShares } from './shares.ts';
export type { SourceReport } from './unit-sources.ts';
export type { WalkedRecord, Walks } from './walks.ts';
export type { Watcher } from './watchers.ts';
