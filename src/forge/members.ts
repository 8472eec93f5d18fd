/** Members of organizations, gathered by the ids of organizations. */

import type { ForgeMembers } from './picture.ts';

type UsersByOrganization = Map<number, Set<number>>;

export function addMember(sets: UsersByOrganization, organization: number, user: number): void {
  const set = sets.get(organization) ?? new Set();
  sets.set(organization, set.add(user));
}

/** Gives the organizations by ascending ids; an owner is no member besides. */
export function membersById(
  owners: ReadonlyMap<number, ReadonlySet<number>>,
  all: ReadonlyMap<number, ReadonlySet<number>>,
): readonly ForgeMembers[] {
  return ascending(new Set([...all.keys(), ...owners.keys()])).map(organization => {
    const ownerIds = owners.get(organization) ?? new Set<number>();
    const members = [...(all.get(organization) ?? [])].filter(user => !ownerIds.has(user));
    return { organization, owners: ascending(ownerIds), members: ascending(members) };
  });
}

function ascending(ids: Iterable<number>): readonly number[] {
  return [...ids].sort((a, b) => a - b);
}
