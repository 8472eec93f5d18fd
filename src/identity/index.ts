/**
 * Who is who: users and organizations with what they say of themselves, members, tokens, and what a token lets do.
 *
 * What is laid down stands in documents beside the policy's: plain functions read a view, and change a draft
 * or an amendment. It is in force at once, revocation included. A token itself is kept nowhere.
 */

export { type Caller, localAdministrator } from './caller.ts';
export { type Authentication, Identity, type IdentityOptions } from './identity.ts';
export { identityKinds, type Profile, type Role, roles, type TokenDocument } from './kinds.ts';
export {
  isOrganizationOwner,
  membersOf,
  mustBeOrganization,
  organizationsOf,
  removeMember,
  setMember,
} from './members.ts';
export type { Area } from './scopes.ts';
export { createToken, type NewToken, revokeToken, tokensOf } from './tokens.ts';
export {
  createUser,
  deleteUser,
  editUser,
  isOnlyFound,
  profileOf,
  type UserEdit,
  type UserFields,
} from './users.ts';
