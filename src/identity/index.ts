/**
 * The people: users and organizations with what they say of themselves, members, tokens with what they let
 * do, and sessions in browsers.
 *
 * All of it stands in documents beside the policy's: plain functions read a snapshot, and change a
 * change set or a transaction. It is in force at once, revocation included. A token itself is kept nowhere,
 * and neither is what a browser holds. However somebody signs in, `startSession` makes the session.
 */

export { type Caller, localAdministrator } from './caller.ts';
export {
  type Authentication,
  Identity,
  type IdentityOptions,
  type SignIn,
  type SignInResult,
} from './identity.ts';
export {
  identityKinds,
  type LinkDocument,
  type Profile,
  type Role,
  roles,
  type SessionDocument,
  type TokenDocument,
  type Via,
} from './kinds.ts';
export {
  hasLinks,
  linkAt,
  linkOf,
  linksAt,
  type ProviderSubject,
  putLink,
  removeLink,
  setAdministrationBy,
} from './links.ts';
export {
  membersOf,
  mustBeOrganization,
  organizationsOf,
  removeMember,
  roleIn,
  setMember,
} from './members.ts';
export type { Area } from './scopes.ts';
export {
  endBrought,
  endSession,
  endSessions,
  type NewSession,
  type SessionCookie,
  type Started,
  sessionLimits,
  startSession,
} from './sessions.ts';
export { linkLifeMs, type SignInLink } from './sign-in-links.ts';
export type { KnownSession } from './signed-in.ts';
export { createToken, type NewToken, revokeToken, tokensOf } from './tokens.ts';
export {
  createUser,
  deleteUser,
  editUser,
  isEmail,
  isOnlyFound,
  profileOf,
  type UserEdit,
  type UserFields,
} from './users.ts';
