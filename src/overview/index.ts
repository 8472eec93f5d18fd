/**
 * Figures of all owners for administrators: the number of owners, also of those near or over a limit, their
 * usage and its history, and the record of events.
 *
 * The totals follow the ledger, one changed owner at a time, so that they are cheap to read. The history is
 * this host's own record of the usage that it knew, including that on other hosts; an owner needs space only
 * for hours in which the usage changed. Events are written behind, but a policy change and its event are one
 * write, so that none is missing. Old events are deleted.
 */

export {
  type Event,
  type EventOf,
  event,
  eventKinds,
  ownEvent,
  ownEventKinds,
} from './event-shapes.ts';
export { Events, type EventsPage } from './events.ts';
export {
  dailyDays,
  growthOf,
  History,
  hourlyDays,
  outlookOf,
  type Range,
  reachedAt,
} from './history.ts';
export {
  judgedKind,
  type LimitedRepository,
  limitedRepositories,
  type PoolState,
  poolStates,
  worstKind,
  worstOf,
} from './levels.ts';
export { Totals } from './totals.ts';
