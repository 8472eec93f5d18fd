/** Finds the owners that a change of documents affects. */

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

/** Kinds that may affect owners whom their documents do not name. */
const forAnybody = [ruleKind, groupKind];

/** With more owners than this, anybody counts as affected. */
const mostNamed = 1000;

/** Returns whether the policy has changed, and the keys of affected owners; a null stands for anybody. */
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
    // Renewed owners are named as well, since somebody else has the key now.
    return { isPolicy, owners: [null, ...renewedOwners.map(({ key }) => key)] };
  }
  // The keys of these documents are ids of owners.
  const byId = [assignmentKind, allowanceKind, graceKind].flatMap(({ name }) => [
    ...(documents.get(name)?.keys() ?? []),
  ]);
  const pools = [...(documents.get(poolGraceKind.name)?.keys() ?? [])];
  const assigned = [...byId.map(Number), ...pools.flatMap(group => policy.membersOf(group))];
  if (owners.length + assigned.length > mostNamed) return { isPolicy, owners: [null] };
  return {
    isPolicy,
    owners: new Set([
      ...owners.map(({ key }) => key),
      ...assigned.flatMap(ownerId => known.byId(ownerId)?.key ?? []),
    ]),
  };
}
