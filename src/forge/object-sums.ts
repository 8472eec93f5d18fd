/** Counts objects that several owners may have: each once for each of them. */

import type { ForgeDatabase } from './database.ts';
import { ownerOfRepository, type RowOwners } from './forge-schema.ts';
import { eachRow, numberAt } from './pages.ts';
import type { ForgeLeaf, UnownedReason } from './picture.ts';
import { nobody, PartSums } from './sums.ts';

/** Objects are known by rows, in the order in which they come. */
export class ObjectSums {
  readonly #leaf: ForgeLeaf;
  readonly #orphaned: UnownedReason;
  readonly #sums: PartSums;
  readonly #sizes: number[] = [];
  /** The first owner who has it. */
  readonly #firstOwners: number[] = [];
  /** Few objects have such owners. */
  readonly #furtherOwners = new Map<number, number[]>();

  /** `orphaned`: why an object that nobody has is nobody's. */
  constructor(leaf: ForgeLeaf, { owners }: RowOwners, orphaned: UnownedReason) {
    this.#leaf = leaf;
    this.#orphaned = orphaned;
    this.#sums = new PartSums([leaf], owners.size);
  }

  /** Adds an object, and gives its row. */
  addObject(size: number): number {
    this.#firstOwners.push(nobody);
    return this.#sizes.push(size) - 1;
  }

  /** `owner`: as of `RowOwners`. */
  addOwner(object: number, owner: number): void {
    const first = this.#firstOwners[object] ?? nobody;
    if (owner < 0) {
      if (first === nobody) this.#firstOwners[object] = owner;
      return;
    }
    if (first < 0) {
      this.#firstOwners[object] = owner;
    } else {
      const others = this.#furtherOwners.get(object) ?? [];
      if (first === owner || others.includes(owner)) return;
      this.#furtherOwners.set(object, [...others, owner]);
    }
    this.#sums.add(this.#leaf, owner, this.#sizes[object] ?? 0, this.#orphaned);
  }

  /** After the last row. */
  sums(): PartSums {
    for (const [row, first] of this.#firstOwners.entries()) {
      if (first < 0) this.#sums.add(this.#leaf, first, this.#sizes[row] ?? 0, this.#orphaned);
    }
    return this.#sums;
  }
}

/** Reads objects from a table that has the size behind the id, and gives their rows by their ids. */
export async function readObjects(
  db: ForgeDatabase,
  table: string,
  columns: readonly string[],
  sums: ObjectSums,
): Promise<ReadonlyMap<number, number>> {
  const rows = new Map<number, number>();
  await eachRow(db, table, columns, (id, row) => rows.set(id, sums.addObject(numberAt(row, 1))));
  return rows;
}

/** LFS objects by their names. */
export class LfsSums {
  readonly #whose: RowOwners;
  readonly #sums: ObjectSums;
  readonly #rows = new Map<string, number>();

  constructor(whose: RowOwners) {
    this.#whose = whose;
    this.#sums = new ObjectSums('size:git:lfs', whose, 'lfs_orphaned');
  }

  add(oid: string, size: number, repositoryId: number): void {
    const row = this.#rows.get(oid) ?? this.#sums.addObject(size);
    this.#rows.set(oid, row);
    this.#sums.addOwner(row, ownerOfRepository(this.#whose, repositoryId));
  }

  sums(): PartSums {
    return this.#sums.sums();
  }
}
