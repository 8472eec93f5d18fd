/**
 * Between the scanner, which measures and knows no ledger, and the ledger, which records and knows no disk.
 *
 * What the disks of this host hold is in the ledger a moment after a push, and at the latest with the next
 * sweep. Owners and walks that look wrong are told as findings.
 */

export { Measuring } from './measuring.ts';
export { leavesThere } from './mounted.ts';
