/**
 * Accounts: users and organizations with their profiles, members, tokens with their scopes, browser
 * sessions, and sign-in with OAuth2 and OpenID Connect.
 *
 * All of this is documents, like the policy: plain functions read a snapshot, and change a change set or a
 * transaction. A change takes effect at once, also a revocation. Of tokens and browser secrets only hashes
 * are stored. For every way to sign in, `startSession` creates the session.
 *
 * oauth/ has the sources that administrators set, the redirects to the provider and back, the effect of a
 * sign-in and its claims on the user, and the encrypted client secrets. It shows no text from a provider or
 * a browser to a user: an error is a code with our own text, and the log has the reason. The effect of claims
 * is one change, which takes effect as a whole, with one event that names the source. Nothing here knows of
 * HTTP except addresses and cookies.
 */

export type { Area, Caller } from './caller.ts';
export { type Authentication, Identity, type SignIn } from './identity.ts';
export {
  identityKinds,
  type LinkDocument,
  profileOf,
  type Role,
  roles,
  type SourceDocument,
  sourceShown,
  type TokenDocument,
  type Via,
} from './kinds.ts';
export type { Claims } from './oauth/claims.ts';
export { SignInFlow, signOutHref } from './oauth/flow.ts';
export { issuerOf } from './oauth/issuer.ts';
export { type SecretKeys, secretKeysOf } from './oauth/keys.ts';
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
} from './oauth/sources.ts';
export {
  type Claimed,
  draftSource,
  SignInFault,
  synchronizeClaimed,
  tryClaims,
} from './oauth/synchronization.ts';
export {
  endSession,
  endSessions,
  type SessionCookie,
  sessionLimits,
  startSession,
} from './sessions.ts';
export type { KnownSession } from './signed-in.ts';
export { createToken, type NewToken, revokeToken, tokensOf } from './tokens.ts';
export {
  administratorAddresses,
  createUser,
  deleteUser,
  editUser,
  hasProfile,
  isOnlyFound,
  linkAt,
  linkOf,
  linksAt,
  membersOf,
  mustBeOrganization,
  type NewMember,
  organizationsOf,
  putLink,
  removeMember,
  roleIn,
  setMailWanted,
  setMember,
  setMembers,
  type UserFields,
  wantsMail,
} from './users.ts';
