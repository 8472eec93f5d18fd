/**
 * All owners together: how many there are, are near a limit or over it, their usage, and its history.
 *
 * The totals are updated with the ledger, an owner at a time, so that asking costs as much as has changed
 * since the last time. The history is recorded every hour; hourly figures are kept for days and daily figures
 * for years. It is this host's own record of the sums that it knew, including the usage of other hosts.
 * Recording is bounded: an owner needs space only for hours in which the usage changed. Setting the clock
 * affects at most the hours in which it was wrong.
 */

export { type DayPoint, type Growth, growthOf, reachedAt } from './growth.ts';
export { History, type HistoryOptions, type Past } from './history.ts';
export { dailyDays, hourlyDays, type Point, type Range, totalOf } from './points.ts';
export { type Moved, type TotalFigures, Totals, type TotalsOptions } from './totals.ts';
