/** Numbers by ids that come in ascending order, packed: sixteen bytes a row, found by bisection. */

import { grown } from '../columns.ts';

export class IdTable {
  #ids = new Float64Array(0);
  #values = new Float64Array(0);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Each id is larger than the one before. */
  add(id: number, value: number): void {
    this.#ids = grown(this.#ids, this.#size + 1);
    this.#values = grown(this.#values, this.#size + 1);
    this.#ids[this.#size] = id;
    this.#values[this.#size] = value;
    this.#size++;
  }

  /** Undefined: there is no such id. */
  get(id: number): number | undefined {
    return this.#values[rowIn(this.#ids, this.#size, id)];
  }
}

/** The place of a number among the first `size` numbers, which ascend, or -1. */
export function rowIn(sorted: Float64Array, size: number, wanted: number): number {
  let [low, high] = [0, size - 1];
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = sorted[middle] ?? 0;
    if (found === wanted) return middle;
    if (found < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
