/**
 * What happened, kept for a configurable time: refusals, crossings of thresholds, changes of policy.
 *
 * Refusals are added up by the hour, and crossings are told with some play, so that neither who tries again
 * and again nor who hovers at a limit fills the record. Both are written behind. A change of policy is
 * written by the ledger together with the change itself, so that none is without. All of it is bounded, and
 * goes by age.
 */

export { Events, type EventsOptions, type EventsPage, type EventsQuery, type ToldRefusal } from './events.ts';
export { atLimit, belowAll, type Level, nextLevel } from './levels.ts';
