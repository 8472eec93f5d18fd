/**
 * Figures of all owners for administrators: how many there are, are near a limit or over it, their usage and
 * its history, and the record of events.
 *
 * The totals are updated with the ledger, an owner at a time, so that asking costs as much as has changed
 * since the last time. The history is recorded every hour; hourly figures are kept for days and daily figures
 * for years. It is this host's own record of the sums that it knew, including the usage of other hosts.
 * Recording is bounded: an owner needs space only for hours in which the usage changed. Setting the clock
 * affects at most the hours in which it was wrong.
 *
 * Events are kept for a configurable time: refusals, thresholds reached, policy changes. Refusals are added
 * up by the hour, and thresholds are recorded with hysteresis, so that neither repeated attempts nor usage
 * around a limit fill the record. Both are written behind. A policy change is written together with its
 * event, so that none is missing. The record is bounded, and old events are deleted.
 */

export {
  type Event,
  type EventKind,
  event,
  eventKinds,
  ownEvent,
  ownEventKinds,
  type RequestEvent,
  type SignInEvent,
} from './event-shapes.ts';
export { Events, type EventsOptions, type EventsPage, type EventsQuery } from './events.ts';
export {
  type DayPoint,
  dailyDays,
  growthOf,
  History,
  hourlyDays,
  type Range,
  reachedAt,
  totalOf,
} from './history.ts';
export { stateOfKind, worstKind } from './levels.ts';
export { Totals } from './totals.ts';
