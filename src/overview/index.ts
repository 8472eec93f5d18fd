/**
 * Figures of all owners for administrators: how many there are, are near a limit or over it, their usage and
 * its history, and the record of events.
 *
 * The totals are updated with the ledger, an owner at a time, so that asking costs as much as has changed
 * since the last time. The history is this host's own record of the sums that it knew, including the usage of
 * other hosts; an owner needs space only for hours in which the usage changed. Events are written behind, but
 * a policy change is written together with its event, so that none is missing; old events are deleted.
 */

export { type LimitedRepository, limitedRepositories, type PoolState, poolStates } from './bound-states.ts';
export {
  type Event,
  type EventKind,
  type EventOf,
  event,
  eventKinds,
  ownEvent,
  ownEventKinds,
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
export { isWorse, judgedKind, worstKind } from './levels.ts';
export { Totals } from './totals.ts';
