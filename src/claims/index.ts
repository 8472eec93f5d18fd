/**
 * What a provider says of somebody, to quota groups: pure functions.
 *
 * Nothing here throws for what a provider says: what cannot be understood is ignored, and said to be.
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
