/** The owners of a forge by rows that stay theirs while the process runs, with what was last told of each. */

import { createHash } from 'node:crypto';
import { IdTable } from './id-table.ts';
import type { ForgeOwner } from './picture.ts';

export class OwnerRows {
  readonly ids = new IdTable();
  readonly #names: string[] = [];
  /** Digests of what was told; 0 for an owner who is not there any more. */
  readonly #digests: number[] = [];
  #isPresent: boolean[] = [];
  #present = 0;

  get size(): number {
    return this.#present;
  }

  /** A reading begins: nobody is there until `put` says so. */
  begin(): void {
    this.#isPresent = [];
    this.#present = 0;
  }

  /**
   * An owner is there. True: new, or other than before. Null: an owner with a lower id than the last came
   * back, for whom there is no row.
   */
  put(owner: ForgeOwner): boolean | null {
    let row = this.ids.rowOf(owner.id);
    if (row === -1) {
      if (this.ids.size > 0 && owner.id < this.ids.idAt(this.ids.size - 1)) return null;
      row = this.ids.size;
      this.ids.add(owner.id, row);
    }
    this.#isPresent[row] = true;
    this.#present++;
    const digest = digestOf(owner);
    if (this.#digests[row] === digest) return false;
    this.#names[row] = owner.name;
    this.#digests[row] = digest;
    return true;
  }

  /** Null: the owner is not there. */
  nameAt(row: number): string | null {
    return this.#isPresent[row] ? (this.#names[row] ?? null) : null;
  }

  /** The ids of all who are there. */
  presentIds(): Float64Array<ArrayBuffer> {
    const ids = new Float64Array(this.#present);
    let index = 0;
    for (let row = 0; row < this.ids.size; row++) if (this.#isPresent[row]) ids[index++] = this.ids.idAt(row);
    return ids;
  }
}

function digestOf({ name, type, email, isAdmin }: ForgeOwner): number {
  const text = JSON.stringify([name, type, email, isAdmin]);
  return createHash('sha1').update(text).digest().readUIntBE(0, 6) + 1;
}
