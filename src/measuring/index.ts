/**
 * Connects the scanner and the forge reader, which measure and know no ledger, with the ledger, which records
 * and knows no disk.
 *
 * The sizes on the disks of this host are in the ledger a moment after a push, and at the latest after the
 * next sweep. Owners and walks that look wrong are reported as findings.
 */

export type { RepositoryWatch } from './follow-ups.ts';
export { ForgeSync } from './forge/forge-sync.ts';
export { forgeLinkKinds } from './forge/owners.ts';
export { Measuring } from './measuring.ts';
