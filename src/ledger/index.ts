/**
 * The usage ledger: holds the usage of every owner in memory, consistent with the store, makes decisions, and
 * records measurements.
 *
 * A decision only reads memory and never waits. While the store cannot be written, the ledger goes on to
 * decide and to count, holds the unwritten data, and reports the failure.
 */

export { type Backup, backupOf, parseBackup, type Restored, restore } from './backup.ts';
export { Ledger } from './ledger.ts';
export type { ActionThings, Clock, LedgerSettings, OwnerDecision, OwnerUsage } from './options.ts';
export { Pools } from './pools.ts';
export type { Reach } from './reach.ts';
export { ReconcileLoop } from './reconcile-loop.ts';
export { policyFaults } from './renamed-owners.ts';
export type { Action, Reservation } from './reservations.ts';
export type { KnownUnit, UsageShares } from './shares.ts';
export type { OwnerRename, SourceReport } from './unit-sources.ts';
export { forgeSource, type OwnerSize } from './usage-index.ts';
export type { WalkedRecord } from './walks.ts';
