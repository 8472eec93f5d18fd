/** Counts objects that several owners may have: each once for each of them. */

import { createHash } from 'node:crypto';
import { grown, noRow } from '../columns.ts';
import { HashedRows } from '../hashed-rows.ts';
import type { ForgeDatabase } from './database.ts';
import { ownerOfRepository, type RowOwners } from './forge-schema.ts';
import { IdTable } from './id-table.ts';
import { eachRow, numberAt } from './pages.ts';
import type { ForgeLeaf, UnownedReason } from './picture.ts';
import { nobody, PartSums } from './sums.ts';

/** Objects are known by rows, in the order in which they come. */
export class ObjectSums {
  readonly #leaf: ForgeLeaf;
  readonly #orphaned: UnownedReason;
  readonly #sums: PartSums;
  #count = 0;
  #sizes = new Float64Array(0);
  /** The first owner who has it. */
  #firstOwners = new Int32Array(0);
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
    const row = this.#count++;
    this.#sizes = grown(this.#sizes, this.#count);
    this.#firstOwners = grown(this.#firstOwners, this.#count);
    this.#sizes[row] = size;
    this.#firstOwners[row] = nobody;
    return row;
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
    for (let row = 0; row < this.#count; row++) {
      const first = this.#firstOwners[row] ?? nobody;
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
): Promise<IdTable> {
  const rows = new IdTable();
  await eachRow(db, table, columns, (id, row) => rows.add(id, sums.addObject(numberAt(row, 1))));
  return rows;
}

/** LFS objects by their names, of which the first 104 bits are kept: a million take some forty megabytes. */
export class LfsSums {
  readonly #whose: RowOwners;
  readonly #sums: ObjectSums;
  readonly #rows = new HashedRows();
  #high = new Float64Array(0);
  #low = new Float64Array(0);

  constructor(whose: RowOwners) {
    this.#whose = whose;
    this.#sums = new ObjectSums('size:git:lfs', whose, 'lfs_orphaned');
  }

  add(oid: string, size: number, repositoryId: number): void {
    this.#sums.addOwner(this.#objectOf(oid, size), ownerOfRepository(this.#whose, repositoryId));
  }

  sums(): PartSums {
    return this.#sums.sums();
  }

  #objectOf(oid: string, size: number): number {
    const digits = digitsOf(oid);
    const high = Number.parseInt(digits.slice(0, 13), 16);
    const low = Number.parseInt(digits.slice(13, 26), 16);
    // The lowest 32 bits.
    const hash = low | 0;
    let row = this.#rows.first(hash);
    while (row !== noRow && (this.#high[row] !== high || this.#low[row] !== low)) {
      row = this.#rows.after(row, hash);
    }
    if (row !== noRow) return row;
    row = this.#sums.addObject(size);
    this.#rows.add(row, hash);
    this.#high = grown(this.#high, row + 1);
    this.#low = grown(this.#low, row + 1);
    this.#high[row] = high;
    this.#low[row] = low;
    return row;
  }
}

/** An object's name is its SHA-256; whatever else stands there gets one. */
function digitsOf(oid: string): string {
  return /^[0-9a-f]{64}$/.test(oid) ? oid : createHash('sha256').update(oid).digest('hex');
}
