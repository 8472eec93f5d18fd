/**
 * A list of up to eight numbers for each row, most of them 0: only the others take room. So what an owner
 * stores takes some twenty bytes, and not an object with a list.
 */

import { grown } from './columns.ts';

/** The places in which a list can have something else than 0 are a byte. */
const most = 8;

/** The numbers of all rows that have so many. */
interface Pool {
  values: Float64Array<ArrayBuffer>;
  used: number;
  readonly free: number[];
}

export class PackedNumbers {
  readonly #zeros: readonly number[];
  /** The places, from the lowest bit on, that are not 0. */
  #masks = new Uint8Array(0);
  /** Row by row, the start of its numbers in the pool, plus 1; 0 if the row has no list. */
  #places = new Int32Array(0);
  readonly #pools: readonly Pool[];

  /** `length`: how many numbers each list has. */
  constructor(length: number) {
    if (length > most) throw new Error(`a list has ${most} numbers at most`);
    this.#zeros = Array.from({ length }, () => 0);
    this.#pools = Array.from({ length: length + 1 }, () => ({
      values: new Float64Array(0),
      used: 0,
      free: [],
    }));
  }

  has(row: number): boolean {
    return (this.#places[row] ?? 0) > 0;
  }

  /** A list of its own each time; undefined where the row has none. */
  get(row: number): number[] | undefined {
    const place = this.#places[row] ?? 0;
    if (place === 0) return undefined;
    const mask = this.#masks[row] ?? 0;
    const { values } = this.#poolOf(mask);
    const list = this.#zeros.slice();
    let next = place - 1;
    for (let left = mask; left !== 0; left &= left - 1) {
      list[31 - Math.clz32(left & -left)] = values[next++] ?? 0;
    }
    return list;
  }

  /** The sum of the numbers whose places are in the mask; undefined where the row has no list. */
  sum(row: number, places: number): number | undefined {
    const place = this.#places[row] ?? 0;
    if (place === 0) return undefined;
    const mask = this.#masks[row] ?? 0;
    const { values } = this.#poolOf(mask);
    let sum = 0;
    let next = place - 1;
    for (let left = mask; left !== 0; left &= left - 1, next += 1) {
      if ((left & -left & places) !== 0) sum += values[next] ?? 0;
    }
    return sum;
  }

  set(row: number, list: readonly number[]): void {
    const mask = maskOf(list);
    if (!this.has(row) || this.#masks[row] !== mask) {
      this.delete(row);
      this.#masks = grown(this.#masks, row + 1);
      this.#places = grown(this.#places, row + 1);
      this.#masks[row] = mask;
      this.#places[row] = placeIn(this.#poolOf(mask), bitsIn(mask)) + 1;
    }
    const { values } = this.#poolOf(mask);
    let next = (this.#places[row] ?? 1) - 1;
    for (const number of list) if (number !== 0) values[next++] = number;
  }

  delete(row: number): void {
    if (!this.has(row)) return;
    const mask = this.#masks[row] ?? 0;
    if (mask !== 0) this.#poolOf(mask).free.push((this.#places[row] ?? 1) - 1);
    this.#places[row] = 0;
  }

  #poolOf(mask: number): Pool {
    const pool = this.#pools[bitsIn(mask)];
    if (pool === undefined) throw new Error('there is no such pool');
    return pool;
  }
}

function placeIn(pool: Pool, count: number): number {
  const free = pool.free.pop();
  if (free !== undefined) return free;
  const place = pool.used;
  pool.used += count;
  pool.values = grown(pool.values, pool.used);
  return place;
}

function maskOf(list: readonly number[]): number {
  let mask = 0;
  for (let at = 0; at < list.length; at += 1) if (list[at] !== 0) mask |= 1 << at;
  return mask;
}

function bitsIn(mask: number): number {
  let bits = 0;
  for (let left = mask; left !== 0; left &= left - 1) bits += 1;
  return bits;
}
