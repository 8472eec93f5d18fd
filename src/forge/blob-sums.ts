/** Counts blobs that have a row of their own: each once for an owner, by the rows that say who has them. */

import type { ForgeDatabase } from './database.ts';
import { IdTable } from './id-table.ts';
import { eachRow, numberAt } from './pages.ts';
import type { ForgeLeaf, UnownedReason } from './picture.ts';
import { PartSums } from './sums.ts';

/** Rows of owners begin at 0. */
const unseen = -1;
/** The row of an owner whom the database does not have. */
export const missingOwner = -2;

interface BlobSumsOptions {
  readonly leaf: ForgeLeaf;
  readonly owners: number;
  /** By the ids of blobs. */
  readonly sizes: IdTable;
  /** Why a blob that nobody has is nobody's. */
  readonly orphaned: UnownedReason;
}

/** Reads the sizes of all blobs: the first of the table's columns after the id. */
export async function readBlobs(
  db: ForgeDatabase,
  table: string,
  columns: readonly string[],
  options: Omit<BlobSumsOptions, 'sizes'>,
): Promise<BlobSums> {
  const sizes = new IdTable();
  await eachRow(db, table, columns, (id, row) => sizes.add(id, numberAt(row, 1)));
  return new BlobSums({ ...options, sizes });
}

class BlobSums {
  readonly #options: BlobSumsOptions;
  readonly #sums: PartSums;
  /** By the blob's row: the first owner who has it. Few blobs have others, too. */
  readonly #firstOwners: Int32Array;
  readonly #furtherOwners = new Map<number, number[]>();

  constructor(options: BlobSumsOptions) {
    this.#options = options;
    this.#sums = new PartSums([options.leaf], options.owners);
    this.#firstOwners = new Int32Array(options.sizes.size).fill(unseen);
  }

  /** `owner`: a row, or `missingOwner`. */
  add(blobId: number, owner: number): void {
    const { leaf, sizes } = this.#options;
    const blob = sizes.rowOf(blobId);
    if (blob === -1) return;
    const size = sizes.valueAt(blob);
    const first = this.#firstOwners[blob];
    if (first === unseen || (first === missingOwner && owner !== missingOwner)) {
      this.#firstOwners[blob] = owner;
      if (owner !== missingOwner) this.#sums.add(leaf, owner, size);
      return;
    }
    if (owner === missingOwner) return;
    const others = this.#furtherOwners.get(blob) ?? [];
    if (first === owner || others.includes(owner)) return;
    this.#furtherOwners.set(blob, [...others, owner]);
    this.#sums.sharedBytes += size;
    this.#sums.add(leaf, owner, size);
  }

  /** After the last row. */
  sums(): PartSums {
    const { sizes, orphaned } = this.#options;
    for (let blob = 0; blob < sizes.size; blob++) {
      const owner = this.#firstOwners[blob];
      if (owner === unseen) this.#sums.addUnowned(orphaned, sizes.valueAt(blob));
      else if (owner === missingOwner) this.#sums.addUnowned('owner_missing', sizes.valueAt(blob));
    }
    return this.#sums;
  }
}
