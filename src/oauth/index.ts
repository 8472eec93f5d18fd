/**
 * Signing in by OAuth2 and OpenID Connect: the sources that administrators lay down, the way to the provider
 * and back, what becomes of those who come, and the client secrets, encrypted at rest.
 *
 * Nothing that comes from a provider or a browser is ever shown to anybody: a fault is a code with words of
 * our own, and the log has the reason. Whatever claims say is one change, in force as a whole, with one event
 * that says from which source. It knows nothing of HTTP but addresses and cookies.
 */

export { SignInFault } from './fault.ts';
export { SignInFlow } from './flow.ts';
export { issuerOf } from './issuer.ts';
export { type SecretKeys, secretKeysOf } from './keys.ts';
export { type SourceDocument, sourceKinds, sourceShown } from './kinds.ts';
export {
  clientSecretOf,
  createSource,
  deleteSource,
  editSource,
  mustBeSource,
  type NewSource,
  type SourceFields,
  sourcesIn,
  sourcesWithLostSecrets,
  unknownQuotaGroups,
  unlink,
} from './sources.ts';
export { type Claimed, type SynchronizingLog, synchronizeClaimed } from './synchronization.ts';
export { tryClaims } from './trial.ts';
