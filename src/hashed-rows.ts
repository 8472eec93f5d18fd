/**
 * Rows by the hashes of what is in them, in columns. Linear hashing: it grows by one bucket with each row, so
 * that no addition ever waits for a new table to be laid out.
 */

import { grown, noRow } from './columns.ts';

export class HashedRows {
  #size = 0;
  #hashes = new Int32Array(0);
  /** The next of its bucket. */
  #next = new Int32Array(0);
  /** The first row of each bucket. */
  #buckets = new Int32Array(1).fill(noRow);
  /** There are so many buckets: `#round` of them, and `#split` that were split in this round. */
  #round = 1;
  #split = 0;

  get size(): number {
    return this.#size;
  }

  /** Gives a row of this hash, or `noRow`; `after` gives the others. */
  first(hash: number): number {
    return this.#withHash(this.#buckets[this.#bucketOf(hash)] ?? noRow, hash);
  }

  /** Gives the next row of this hash, or `noRow`. */
  after(row: number, hash: number): number {
    return this.#withHash(this.#next[row] ?? noRow, hash);
  }

  /** Prepares for about so many rows, so that they are added without splitting buckets. */
  expect(rows: number): void {
    if (this.#size > 0 || rows < 2) return;
    this.#makeRoomFor(rows - 1);
    this.#buckets = new Int32Array(rows).fill(noRow);
    this.#round = 2 ** Math.floor(Math.log2(rows));
    this.#split = rows - this.#round;
  }

  /** Adds a row that is not there. */
  add(row: number, hash: number): void {
    if (row >= this.#hashes.length) this.#makeRoomFor(row);
    this.#hashes[row] = hash;
    this.#link(row);
    this.#size += 1;
    if (this.#size > this.#round + this.#split) this.#splitNext();
  }

  /** Takes out a row that is there. */
  remove(row: number): void {
    const bucket = this.#bucketOf(this.#hashes[row] ?? 0);
    const after = this.#next[row] ?? noRow;
    let at = this.#buckets[bucket] ?? noRow;
    if (at === row) this.#buckets[bucket] = after;
    while (at !== noRow && this.#next[at] !== row) at = this.#next[at] ?? noRow;
    if (at !== noRow) this.#next[at] = after;
    this.#size -= 1;
  }

  #makeRoomFor(row: number): void {
    this.#hashes = grown(this.#hashes, row + 1);
    this.#next = grown(this.#next, row + 1);
  }

  #withHash(first: number, hash: number): number {
    let row = first;
    while (row !== noRow && this.#hashes[row] !== hash) row = this.#next[row] ?? noRow;
    return row;
  }

  #bucketOf(hash: number): number {
    const bucket = hash & (this.#round - 1);
    return bucket < this.#split ? hash & (2 * this.#round - 1) : bucket;
  }

  #link(row: number): void {
    const bucket = this.#bucketOf(this.#hashes[row] ?? 0);
    this.#next[row] = this.#buckets[bucket] ?? noRow;
    this.#buckets[bucket] = row;
  }

  /** One more bucket takes its part of the rows of the one that is split. */
  #splitNext(): void {
    const from = this.#split;
    let row = this.#buckets[from] ?? noRow;
    this.#buckets = grown(this.#buckets, this.#round + from + 1);
    this.#buckets[from] = noRow;
    this.#buckets[this.#round + from] = noRow;
    this.#split += 1;
    if (this.#split === this.#round) [this.#round, this.#split] = [2 * this.#round, 0];
    while (row !== noRow) {
      const after = this.#next[row] ?? noRow;
      this.#link(row);
      row = after;
    }
  }
}

/** Lets every bit of a number tell in every bit of its hash. */
export function mixed(state: number): number {
  let hash = state;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
