/** The bytes of owners by leaf, and those of nobody. */

import type { ForgeDatabase } from './database.ts';
import {
  type FigureDrift,
  type ForgeLeaf,
  type ForgeOwner,
  type Unowned,
  type UnownedReason,
  unownedReasons,
} from './messages.ts';
import { eachRow, numberAt } from './pages.ts';

/** Says whose a row is. */
export interface RowOwners {
  /** By their ids. */
  readonly owners: ReadonlyMap<number, ForgeOwner>;
  /** Ids of owners, who may be missing, by the ids of repositories. */
  readonly repositories: ReadonlyMap<number, number>;
}

/** One part of a reading, such as all LFS objects, which is replaced as a whole. */
export class PartSums {
  readonly #owners: RowOwners['owners'];
  /** By leaf, then by the ids of owners. */
  readonly #bytes: ReadonlyMap<ForgeLeaf, Map<number, number>>;
  readonly unowned = new Map<UnownedReason, { count: number; bytes: number }>();

  constructor(leaves: readonly ForgeLeaf[], { owners }: Pick<RowOwners, 'owners'>) {
    this.#owners = owners;
    this.#bytes = new Map(leaves.map(leaf => [leaf, new Map()]));
  }

  /** Adds to an owner. Undefined: it is nobody's, because it is `orphaned`. */
  add(leaf: ForgeLeaf, ownerId: number | undefined, bytes: number, orphaned: UnownedReason): void {
    if (ownerId !== undefined && this.#owners.has(ownerId)) {
      this.#bytes.get(leaf)?.set(ownerId, this.of(leaf, ownerId) + bytes);
      return;
    }
    const reason = ownerId === undefined ? orphaned : 'owner_missing';
    const sum = this.unowned.get(reason) ?? { count: 0, bytes: 0 };
    this.unowned.set(reason, { count: sum.count + 1, bytes: sum.bytes + bytes });
  }

  of(leaf: ForgeLeaf, ownerId: number): number {
    return this.#bytes.get(leaf)?.get(ownerId) ?? 0;
  }

  /** The differences to an earlier count of the same part. */
  since(before: PartSums): readonly FigureDrift[] {
    return [...this.#bytes].flatMap(([leaf, sums]) => {
      const ids = new Set([...sums.keys(), ...(before.#bytes.get(leaf)?.keys() ?? [])]);
      const differences = [...ids]
        .map(id => Math.abs(this.of(leaf, id) - before.of(leaf, id)))
        .filter(bytes => bytes > 0);
      const bytes = differences.reduce((sum, one) => sum + one, 0);
      return bytes === 0 ? [] : [{ leaf, owners: differences.length, bytes }];
    });
  }
}

/** All leaves together: the bytes of nobody by their reasons. */
export function unownedIn(parts: readonly PartSums[]): readonly Unowned[] {
  const reasons = Object.keys(unownedReasons) as UnownedReason[];
  return reasons.flatMap(reason => {
    const sums = parts.map(part => part.unowned.get(reason) ?? { count: 0, bytes: 0 });
    const count = sums.reduce((sum, one) => sum + one.count, 0);
    return count === 0 ? [] : [{ reason, count, bytes: sums.reduce((sum, one) => sum + one.bytes, 0) }];
  });
}

interface StoredObject {
  readonly size: number;
  /** The id of the first one; undefined: nobody who is there has it. */
  owner: number | undefined;
  /** Few objects have any. */
  others: readonly number[];
}

const none: readonly number[] = [];

/** Counts objects that several owners may have: each once for each of them. */
export class ObjectSums<Id extends number | string> {
  readonly #objects = new Map<Id, StoredObject>();

  add(id: Id, size: number): void {
    if (!this.#objects.has(id)) this.#objects.set(id, { size, owner: undefined, others: none });
  }

  /** An object that was not added has no owner. Undefined: a repository that is not there has it. */
  addOwner(id: Id, ownerId: number | undefined): void {
    const object = this.#objects.get(id);
    if (object === undefined || ownerId === undefined) return;
    const { owner, others } = object;
    if (owner === undefined) object.owner = ownerId;
    else if (owner !== ownerId && !others.includes(ownerId)) object.others = [...others, ownerId];
  }

  /** After the last row; `orphaned`: why an object that nobody has is nobody's. */
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

/** Reads objects from a table that has the size behind the id. */
export async function readObjects(
  db: ForgeDatabase,
  table: string,
  columns: readonly string[],
): Promise<ObjectSums<number>> {
  const objects = new ObjectSums<number>();
  await eachRow(db, table, columns, (id, row) => objects.add(id, numberAt(row, 1)));
  return objects;
}
