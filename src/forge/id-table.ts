/** Numbers by ids that come in ascending order, packed: sixteen bytes a row, found by bisection. */

const firstRows = 1024;

export class IdTable {
  #ids = new Float64Array(firstRows);
  #values = new Float64Array(firstRows);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Each id is larger than the one before. */
  add(id: number, value: number): void {
    if (this.#size === this.#ids.length) {
      this.#ids = doubled(this.#ids);
      this.#values = doubled(this.#values);
    }
    this.#ids[this.#size] = id;
    this.#values[this.#size] = value;
    this.#size++;
  }

  /** Gives the row of an id, or -1. */
  rowOf(id: number): number {
    return rowIn(this.#ids, this.#size, id);
  }

  idAt(row: number): number {
    return this.#ids[row] ?? 0;
  }

  valueAt(row: number): number {
    return this.#values[row] ?? 0;
  }

  /** Undefined: there is no such id. */
  get(id: number): number | undefined {
    const row = this.rowOf(id);
    return row === -1 ? undefined : this.valueAt(row);
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

function doubled(column: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(column.length * 2);
  larger.set(column);
  return larger;
}
