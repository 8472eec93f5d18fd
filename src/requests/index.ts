/**
 * Requests for more than the limit: asking, granting and declining.
 *
 * A granted request is an allowance, made in the same transaction. Each step is an event. Who may answer whom
 * is for those who know the callers to say.
 */

export { declineRequest, type Grant, grantRequest } from './answer.ts';
export { ask, type NewRequest, withdraw } from './ask.ts';
export type { AutoGrant } from './auto-grant.ts';
export { type RequestDocument, requestKinds } from './kinds.ts';
export {
  everyRequest,
  forgetRequests,
  latestFirst,
  mustBeRequest,
  type RequestEntry,
  requestsOf,
} from './list.ts';
