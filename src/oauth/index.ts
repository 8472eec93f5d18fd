/**
 * Sign-in with OAuth2 and OpenID Connect: the sources that administrators set, the redirects to the provider
 * and back, the effect of a sign-in and its claims on the user, and the encrypted client secrets.
 *
 * No text from a provider or a browser is ever shown to a user: an error is a code with our own text, and the
 * log has the reason. The effect of claims is one change, which takes effect as a whole, with one event that
 * names the source. The module knows nothing of HTTP except addresses and cookies.
 */

export type { Claims } from './claims.ts';
export { SignInFlow, signOutHref } from './flow.ts';
export { issuerOf } from './issuer.ts';
export { type SecretKeys, secretKeysOf } from './keys.ts';
export {
  clientSecretOf,
  createSource,
  deleteSource,
  editSource,
  mustBeSource,
  type NewSource,
  type SourceDocument,
  type SourceFields,
  sourceKinds,
  sourceShown,
  sourcesIn,
  sourcesWithLostSecrets,
  unknownQuotaGroups,
  unlink,
} from './sources.ts';
export { type Claimed, draftSource, SignInFault, synchronizeClaimed, tryClaims } from './synchronization.ts';
