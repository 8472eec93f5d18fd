/** Owners whose usage has become another, with that usage, by the rows of their keys. */

import { grown } from '../columns.ts';
import { PackedNumbers } from '../packed-numbers.ts';
import { leaves, type Usage } from '../quota/index.ts';

/** Gives the usage of each owner with the owner's id. */
export class MovedOwners implements Iterable<readonly [id: number, usage: Usage]> {
  readonly #usages = new PackedNumbers(leaves.length);
  #ids = new Float64Array(0);

  set(row: number, id: number, usage: Usage): void {
    this.#usages.set(row, usage);
    this.#ids = grown(this.#ids, row + 1);
    this.#ids[row] = id;
  }

  delete(row: number): void {
    this.#usages.delete(row);
  }

  /**
   * Takes owners of before who have not moved again since. `isThere`: the owner in a row is still this one.
   */
  putBack(before: MovedOwners, isThere: (row: number, id: number) => boolean): void {
    for (const [row, id, usage] of before.#rows()) {
      if (!this.#usages.has(row) && isThere(row, id)) this.set(row, id, usage);
    }
  }

  *[Symbol.iterator](): Generator<readonly [number, Usage]> {
    for (const [, id, usage] of this.#rows()) yield [id, usage];
  }

  *#rows(): Generator<readonly [row: number, id: number, usage: Usage]> {
    for (let row = 0; row < this.#ids.length; row += 1) {
      const usage = this.#usages.get(row);
      if (usage !== undefined) yield [row, this.#ids[row] ?? 0, usage];
    }
  }
}
