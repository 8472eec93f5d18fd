/**
 * All owners together: how many there are, are near a limit or over it, what they use, and what they used.
 *
 * The totals are kept up with the ledger, an owner at a time, so that asking costs as much as has changed
 * since. The history is recorded every hour, kept by the hour for days and by the day for years, and carried
 * forward. It is this host's own record of the sums that it knew, other hosts' usage among them. Recording is
 * bounded: an owner takes room only for hours in which the usage became another. A clock that is set costs at
 * most the hours in which it was wrong.
 */

export { type DayPoint, type Growth, growthOf, reachedAt } from './growth.ts';
export { History, type HistoryOptions, type Past } from './history.ts';
export { dailyDays, hourlyDays, type Point, type Range, totalOf } from './points.ts';
export { type Moved, type TotalFigures, Totals, type TotalsOptions } from './totals.ts';
