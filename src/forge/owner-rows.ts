/** The owners of a forge by rows that stay theirs while the process runs, with what was last told of each. */

import { createHash } from 'node:crypto';
import type { ForgeOwner } from './picture.ts';
import { missingOwner } from './sums.ts';

export class OwnerRows {
  readonly #rows = new Map<number, number>();
  readonly #ids: number[] = [];
  readonly #names: string[] = [];
  /** Digests of what was told. */
  readonly #digests: number[] = [];
  /** The rows of those who are there, and of those who were before this reading. */
  #present = new Set<number>();
  #before = new Set<number>();

  /** The number of rows. */
  get size(): number {
    return this.#ids.length;
  }

  get isAnybodyPresent(): boolean {
    return this.#present.size > 0;
  }

  /** Tells whether somebody came or went with this reading. */
  get hasPresenceChanged(): boolean {
    const [present, before] = [this.#present, this.#before];
    return present.size !== before.size || [...present].some(row => !before.has(row));
  }

  /** A reading begins: nobody is there until `put` says so. */
  begin(): void {
    this.#before = this.#present;
    this.#present = new Set();
  }

  /** An owner is there. True: new, or other than before. */
  put(owner: ForgeOwner): boolean {
    const row = this.#rows.get(owner.id) ?? this.#ids.length;
    this.#rows.set(owner.id, row);
    this.#ids[row] = owner.id;
    this.#names[row] = owner.name;
    this.#present.add(row);
    const digest = digestOf(owner);
    const isKnown = this.#before.has(row) && this.#digests[row] === digest;
    this.#digests[row] = digest;
    return !isKnown;
  }

  /** Gives the row of a forge's id, or `missingOwner`. */
  rowOf(id: number): number {
    return this.#rows.get(id) ?? missingOwner;
  }

  /** Null: the owner is not there. */
  nameAt(row: number): string | null {
    return this.#present.has(row) ? (this.#names[row] ?? null) : null;
  }

  /** The ids of all who are there, ascending. */
  presentIds(): Float64Array {
    return Float64Array.from(this.#present, row => this.#ids[row] ?? 0).sort();
  }
}

function digestOf({ name, type, email, isAdmin }: ForgeOwner): number {
  const text = JSON.stringify([name, type, email, isAdmin]);
  return createHash('sha1').update(text).digest().readUIntBE(0, 6);
}
