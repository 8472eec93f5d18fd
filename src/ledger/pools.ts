/** The bytes of the members of a group together. */

import type { Policy } from '../policy/index.ts';
import { noUsage, type PooledBytes, type Usage } from '../quota/index.ts';
import type { OwnerUsage } from './options.ts';

interface OwnersById {
  ownerById(id: number): OwnerUsage | undefined;
}

/** Adds up the members of each group that is asked about, once. Nothing that is reserved is among them. */
export function sumsOfPools(owners: OwnersById, policy: Policy): (group: string) => PooledBytes {
  const known = new Map<string, PooledBytes>();
  return group => {
    const found = known.get(group) ?? sumOf(policy.membersOf(group).map(id => owners.ownerById(id)));
    known.set(group, found);
    return found;
  };
}

function sumOf(members: readonly (OwnerUsage | undefined)[]): PooledBytes {
  let usage = noUsage;
  let unreachable: Usage | null = null;
  for (const member of members) {
    if (member === undefined) continue;
    usage = added(usage, member.usage);
    if (member.unreachable !== null) unreachable = added(unreachable ?? noUsage, member.unreachable);
  }
  return { usage, unreachable, reserved: null };
}

function added(a: Usage, b: Usage): Usage {
  return a.map((bytes, index) => bytes + (b[index] ?? 0));
}
