/**
 * Accounts: users and organizations with their profiles, members, tokens with their scopes, and browser
 * sessions.
 *
 * All of this is documents, like the policy: plain functions read a snapshot, and change a change set or a
 * transaction. A change takes effect at once, also a revocation. Of tokens and browser secrets only hashes
 * are stored. For every way to sign in, `startSession` creates the session.
 */

export type { Area, Caller } from './caller.ts';
export {
  type Authentication,
  Identity,
  type IdentityOptions,
  linkLifeMs,
  type SignIn,
} from './identity.ts';
export {
  byAge,
  identityKinds,
  type LinkDocument,
  newNumber,
  profileOf,
  type Role,
  roles,
  type SessionDocument,
  type TokenDocument,
  type Via,
} from './kinds.ts';
export {
  endBrought,
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
  organizationsOf,
  putLink,
  removeLink,
  removeMember,
  roleIn,
  setAdministrationBy,
  setMailWanted,
  setMember,
  type UserFields,
  wantsMail,
} from './users.ts';
