/**
 * Maps the claims of a provider to quota groups: pure functions.
 *
 * Nothing here throws because of a claim: a part that cannot be understood is ignored and reported.
 */

export {
  longestMappedName,
  longestMappingText,
  type Mapped,
  type Mapping,
  mappingIn,
  mostMapped,
  quotaGroupsIn,
  unmappedIn,
} from './mapping.ts';
export { type Claims, namesInClaim, type ReadNames, textClaim } from './names.ts';
export {
  type ClaimRules,
  type MissingClaim,
  missingClaims,
  type Synchronization,
  synchronize,
} from './synchronize.ts';
