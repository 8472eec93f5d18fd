/**
 * What every owner stores, in memory, true to the store: decides at once, and records what is measured.
 *
 * Asking reads memory and never waits. While the store is away the ledger goes on answering and
 * counting, keeps what it could not write, and says so.
 */

export type { Amendment, Occasion } from './amendment.ts';
export type { Answer, OwnerUsage } from './answer.ts';
export type { Author, PolicyEvent } from './chronicle.ts';
export type { Clock } from './clock.ts';
export { EventIds } from './event-ids.ts';
export type { SharedPolicy } from './governing.ts';
export type { Away } from './keeper.ts';
export { Ledger } from './ledger.ts';
export type { Noted } from './notes.ts';
export type { LedgerOptions, LedgerSettings } from './options.ts';
export { Rounds, type RoundsOptions } from './rounds.ts';
export type { KnownUnit, Shared, Sharing } from './sharing.ts';
export { inSlices } from './slices.ts';
export type { SourceReport } from './unit-sources.ts';
export type { WalkedUnit } from './walks.ts';
export type { Watcher } from './watchers.ts';
