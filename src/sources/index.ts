/**
 * OAuth2 sources: what administrators lay down of providers of identities, and what becomes of those who sign
 * in there.
 *
 * Nothing here talks to a provider. Whatever claims say is one change, in force as a whole, with one event
 * that says from which source.
 */

export { type Administration, administrationBy } from './administration.ts';
export { type Arrived, arrive, type LoginResult, type RefusedArrival } from './arrivals.ts';
export { discoveryOf, isSafe, issuerOf } from './issuer.ts';
export { type SourceDocument, sourceKinds } from './kinds.ts';
export {
  clientSecretOf,
  createSource,
  deleteSource,
  draftedSource,
  editSource,
  type KnownSecret,
  mustBeSource,
  type NewSource,
  type SourceFields,
  sourceById,
  sourcesIn,
  sourcesWithLostSecrets,
  unknownQuotaGroups,
  unlink,
} from './sources.ts';
export {
  type Claimed,
  plan,
  type SynchronizingLog,
  synchronizeClaimed,
  warn,
} from './synchronization.ts';
export { type TriedSynchronization, tryClaims } from './trial.ts';
