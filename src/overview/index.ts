/**
 * All owners together: how many there are, are near a limit or over it, and what they use.
 *
 * It is kept up with the ledger, an owner at a time, so that asking costs as much as has changed since.
 */

export { type Moved, type TotalFigures, Totals, type TotalsOptions } from './totals.ts';
