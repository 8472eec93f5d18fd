/** Finds whom a change of documents affects. */

import type { Applied, Owners } from '../documents/index.ts';
import {
  allowanceKind,
  assignmentKind,
  graceKind,
  groupKind,
  type Policy,
  policyKinds,
  poolGraceKind,
  ruleKind,
} from '../policy/index.ts';

/** Kinds that bear on owners whom their documents do not name. */
const forAnybody = [ruleKind, groupKind];

/** More owners than these are not named one by one. */
const mostNamed = 1000;

/** Gives whether the policy has changed, and the owners affected, by key; null among them: anybody may be. */
export function affectedBy(
  { documents, owners, renewedOwners, goneOwners }: Applied,
  known: Owners,
  policy: Pick<Policy, 'membersOf'>,
): {
  readonly isPolicy: boolean;
  readonly owners: Iterable<string | null>;
} {
  const isPolicy = policyKinds.some(({ name }) => documents.has(name));
  if (goneOwners.length > 0 || forAnybody.some(({ name }) => documents.has(name))) {
    // A renewed owner is somebody else now besides.
    return { isPolicy, owners: [null, ...renewedOwners.map(({ key }) => key)] };
  }
  // All of them are kept by the owner's id.
  const byId = [assignmentKind, allowanceKind, graceKind].flatMap(({ name }) => [
    ...(documents.get(name)?.keys() ?? []),
  ]);
  const pools = [...(documents.get(poolGraceKind.name)?.keys() ?? [])];
  const assigned = [...byId.map(Number), ...pools.flatMap(group => policy.membersOf(group))];
  // To look at everybody once costs less than to name so many.
  if (owners.length + assigned.length > mostNamed) return { isPolicy, owners: [null] };
  return {
    isPolicy,
    owners: new Set([
      ...owners.map(({ key }) => key),
      ...assigned.flatMap(ownerId => known.byId(ownerId)?.key ?? []),
    ]),
  };
}
