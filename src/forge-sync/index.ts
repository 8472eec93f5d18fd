/**
 * Brings what a forge's database says into the ledger and the accounts: bytes as the units of one source, users
 * and organizations by the forge's ids, and what is public.
 */

export { ForgeSync, type ForgeSyncOptions } from './forge-sync.ts';
export { forgeLinkKinds } from './kinds.ts';
export type { ForgeVisibility } from './visibility.ts';
