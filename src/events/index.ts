/**
 * The record of events, kept for a configurable time: refusals, thresholds reached, policy changes.
 *
 * Refusals are added up by the hour, and thresholds are recorded with hysteresis, so that neither repeated
 * attempts nor usage around a limit fill the record. Both are written behind. A policy change is written
 * together with its event, so that none is missing. The record is bounded, and old events are deleted.
 */

export { Events, type EventsOptions, type EventsPage, type EventsQuery, type ToldRefusal } from './events.ts';
export { atLimit, belowAll, type Level, nextLevel } from './levels.ts';
