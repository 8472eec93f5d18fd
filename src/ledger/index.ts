/**
 * What every owner stores, in memory, true to the store: decides at once, and records what is measured.
 *
 * Asking reads memory and never waits. While the store is away the ledger goes on answering and
 * counting, keeps what it could not write, and says so.
 */

export type { Away } from './keeper.ts';
export { type Answer, Ledger, type LedgerOptions, type OwnerUsage, type WalkedUnit } from './ledger.ts';
