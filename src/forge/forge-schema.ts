/** A kind of forge as the reader needs it: which tables it has, and how its rows are read and counted. */

import type { ForgeDatabase } from './database.ts';
import type { LfsObject } from './lfs-objects.ts';
import type { ForgeMembers, ForgeOwner } from './messages.ts';
import type { PartSums, RowOwners } from './sums.ts';

/** Columns by table; `new or old`: a table that has another name in older versions. */
export type NeededColumns = Readonly<Record<string, readonly string[]>>;

/** A repository as the forge has it. */
export interface ForgeRepository {
  /** Null: no row is counted by it. */
  readonly id: number | null;
  readonly ownerId: number;
  /** The name by which a path leads to it, in lower case: see `repositoryNameOf`. */
  readonly name: string;
  readonly isPublic: boolean;
}

/** A part of a reading that has bytes, such as all LFS objects. */
interface BytePart {
  readonly tables: readonly string[];
  /** Tells whether rows belong to the owner of a repository. */
  readonly isByRepository: boolean;
  count(db: ForgeDatabase, whose: RowOwners): Promise<PartSums>;
}

export interface ForgeSchema {
  readonly needed: NeededColumns;
  /** The table whose column `version` has the forge's own number of its tables' state. */
  readonly versionTable: string;
  /** The tables of owners and members. */
  readonly accountTables: readonly string[];
  readonly repositoryTables: readonly string[];
  readonly byteParts: Readonly<Record<string, BytePart>>;
  /** Tells whether only the database says whose a repository is, not its path. */
  readonly tellsOwners: boolean;
  /** Gives them by ascending ids. */
  eachOwner(db: ForgeDatabase, take: (owner: ForgeOwner) => void): Promise<void>;
  /** Gives the organizations that have members, by ascending ids; asked after `eachOwner`. */
  members(db: ForgeDatabase): Promise<readonly ForgeMembers[]>;
  /** Gives those with an id by ascending ids. */
  eachRepository(
    db: ForgeDatabase,
    owners: RowOwners['owners'],
    take: (repository: ForgeRepository) => void,
  ): Promise<void>;
  /** The largest LFS objects that the repository of this name has alone. */
  lfsObjects(db: ForgeDatabase, name: string): Promise<readonly LfsObject[]>;
}

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
