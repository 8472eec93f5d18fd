/** A kind of forge: its tables, its rows, and the sums of bytes by owner and leaf. */

import { given } from '../given.ts';
import { type AboutRow, eachRow, type ForgeDatabase, numberAt, type Row, textAt } from './database.ts';
import type { RowSum } from './loss-guard.ts';
import type {
  Claim,
  FigureDrift,
  ForgeLeaf,
  ForgeMembers,
  ForgeOwner,
  LfsObject,
  OwnerKey,
  UnownedReason,
} from './messages.ts';

/** Columns by table. `new or old` is a table that has another name in older versions. */
export type NeededColumns = Readonly<Record<string, readonly string[]>>;

interface ForgeRepository {
  /** Null if no rows with bytes refer to it. */
  readonly id: number | null;
  readonly ownerId: number;
  /** Name in lower case that is found by a path; see `repositoryNameOf`. */
  readonly name: string;
  readonly isPublic: boolean;
}

/** A repository whose path does not show its owner. */
export interface PlacedRepository {
  readonly id: number | null;
  readonly name: string;
  /** Possible owners, in the order that `claimsIn` explains; empty if it has none. */
  readonly claims: readonly Claim[];
}

/** A part of a reading that has bytes, such as all LFS objects. */
interface BytePart {
  readonly tables: readonly string[];
  readonly isByRepository: boolean;
  count(db: ForgeDatabase, whose: RowOwners): Promise<PartSums>;
}

export interface ForgeSchema {
  readonly needed: NeededColumns;
  /** Table whose column `version` has the version of the forge's schema. */
  readonly versionTable: string;
  readonly accountTables: readonly string[];
  readonly repositoryTables: readonly string[];
  readonly byteParts: Readonly<Record<string, BytePart>>;
  eachOwner(db: ForgeDatabase, take: (owner: ForgeOwner) => void): Promise<void>;
  /** Reads one current owner; absent if paths of repositories do not contain owners. */
  ownerBy?(db: ForgeDatabase, key: OwnerKey, value: number | string): Promise<ForgeOwner | null>;
  /** Returns the organizations with members, by ascending ids. `eachOwner` has to run before. */
  members(db: ForgeDatabase): Promise<readonly ForgeMembers[]>;
  /**
   * True if only the database knows the owners of repositories, and their paths do not: all are placed ones.
   */
  readonly tellsOwners: boolean;
  /** Passes on the repositories; those with an id by ascending ids. */
  eachRepository(
    db: ForgeDatabase,
    owners: RowOwners['owners'],
    take: (repository: ForgeRepository | PlacedRepository) => void,
  ): Promise<void>;
  lfsObjects(db: ForgeDatabase, name: string): Promise<readonly LfsObject[]>;
}

export function addMember(sets: Map<number, Set<number>>, organization: number, user: number): void {
  const set = sets.get(organization) ?? new Set();
  sets.set(organization, set.add(user));
}

/**
 * Combines members and owners of organizations, by ascending ids. An owner is not listed as a member, too.
 */
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

export interface RowOwners {
  readonly owners: ReadonlyMap<number, ForgeOwner>;
  /** Ids of owners by the ids of their repositories. The owner may be missing in `owners`. */
  readonly repositories: ReadonlyMap<number, number>;
}

/** Sums of one part of a reading, which is always replaced as a whole. */
export class PartSums {
  readonly #owners: RowOwners['owners'];
  /** Sums by leaf and then by the owner's id. */
  readonly all: ReadonlyMap<ForgeLeaf, Map<number, RowSum>>;
  readonly unowned = new Map<UnownedReason, { count: number; bytes: number }>();

  constructor(leaves: readonly ForgeLeaf[], { owners }: Pick<RowOwners, 'owners'>) {
    this.#owners = owners;
    this.all = new Map(leaves.map(leaf => [leaf, new Map()]));
  }

  /** Adds bytes to an owner. If `ownerId` is undefined, they count as unowned for the reason `orphaned`. */
  add(leaf: ForgeLeaf, ownerId: number | undefined, bytes: number, orphaned: UnownedReason): void {
    if (ownerId !== undefined && this.#owners.has(ownerId)) {
      const sums = this.all.get(leaf);
      const sum = sums?.get(ownerId);
      sums?.set(ownerId, { rows: (sum?.rows ?? 0) + 1, bytes: (sum?.bytes ?? 0) + bytes });
      return;
    }
    const reason = ownerId === undefined ? orphaned : 'owner_missing';
    const sum = this.unowned.get(reason) ?? { count: 0, bytes: 0 };
    this.unowned.set(reason, { count: sum.count + 1, bytes: sum.bytes + bytes });
  }

  of(leaf: ForgeLeaf, ownerId: number): number {
    return this.all.get(leaf)?.get(ownerId)?.bytes ?? 0;
  }

  since(before: PartSums): readonly FigureDrift[] {
    return [...this.all].flatMap(([leaf, sums]) => {
      const ids = new Set([...sums.keys(), ...(before.all.get(leaf)?.keys() ?? [])]);
      const differences = [...ids]
        .map(id => Math.abs(this.of(leaf, id) - before.of(leaf, id)))
        .filter(bytes => bytes > 0);
      const bytes = differences.reduce((sum, one) => sum + one, 0);
      return bytes === 0 ? [] : [{ leaf, owners: differences.length, bytes }];
    });
  }
}

interface StoredObject {
  readonly size: number;
  /** Id of the first owner; undefined if no existing repository has the object. */
  owner: number | undefined;
  /** Further owners, which few objects have. */
  others: readonly number[];
}

const none: readonly number[] = [];

/** Adds up objects that several owners may have: each counts once for each of them. */
export class ObjectSums<Id extends number | string> {
  readonly #objects = new Map<Id, StoredObject>();

  add(id: Id, size: number): void {
    if (!this.#objects.has(id)) this.#objects.set(id, { size, owner: undefined, others: none });
  }

  /**
   * Adds an owner to an object. Unknown objects are ignored, and so is an undefined owner, whose repository
   * is gone.
   */
  addOwner(id: Id, ownerId: number | undefined): void {
    const object = this.#objects.get(id);
    if (object === undefined || ownerId === undefined) return;
    const { owner, others } = object;
    if (owner === undefined) object.owner = ownerId;
    else if (owner !== ownerId && !others.includes(ownerId)) object.others = [...others, ownerId];
  }

  /** Returns the sums after the last row. `orphaned` is the reason of objects without an owner. */
  sums(leaf: ForgeLeaf, whose: RowOwners, orphaned: UnownedReason): PartSums {
    const sums = new PartSums([leaf], whose);
    for (const { size, owner, others } of this.#objects.values()) {
      const known = [owner, ...others].filter(id => id !== undefined && whose.owners.has(id));
      for (const id of known) sums.add(leaf, id, size, orphaned);
      if (known.length === 0) sums.add(leaf, owner, size, orphaned);
    }
    return sums;
  }
}

/** Reads objects from a table whose second column is the size. */
export async function readObjects(
  db: ForgeDatabase,
  table: string,
  columns: readonly string[],
  about?: (row: Row) => AboutRow,
): Promise<ObjectSums<number>> {
  const objects = new ObjectSums<number>();
  const take = (id: number, row: Row) => objects.add(id, numberAt(row, 1));
  await eachRow(db, table, columns, take, given({ about }));
  return objects;
}

export function objectIn(row: Row): LfsObject {
  return { oid: textAt(row, 0), bytes: numberAt(row, 1) };
}
