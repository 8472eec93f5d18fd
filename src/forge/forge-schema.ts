/** A kind of forge as the reader needs it: which tables it has, and how its rows are read and counted. */

import type { ForgeDatabase } from './database.ts';
import type { LfsObject } from './lfs-objects.ts';
import type { OwnerRows } from './owner-rows.ts';
import type { ForgeMembers, ForgeOwner } from './picture.ts';
import { nobody, type PartSums } from './sums.ts';

/** Columns by table; `new or old`: a table that has another name in older versions. */
export type NeededColumns = Readonly<Record<string, readonly string[]>>;

/** Says whose a row is: an owner's row, or `nobody` or `missingOwner`. */
export interface RowOwners {
  readonly owners: OwnerRows;
  /** Ids of owners by the ids of repositories. */
  readonly repositories: ReadonlyMap<number, number>;
}

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
    owners: OwnerRows,
    take: (repository: ForgeRepository) => void,
  ): Promise<void>;
  /** The largest LFS objects that the repository of this name has alone. */
  lfsObjects(db: ForgeDatabase, name: string): Promise<readonly LfsObject[]>;
}

/** Undefined: of no repository. */
export function ownerOfRepository(
  { owners, repositories }: RowOwners,
  repositoryId: number | undefined,
): number {
  const ownerId = repositoryId === undefined ? undefined : repositories.get(repositoryId);
  return ownerId === undefined ? nobody : owners.rowOf(ownerId);
}
