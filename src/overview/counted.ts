/**
 * The figures by which owners are counted, in columns by the rows of their keys: with an object for each, a
 * million owners would take 200 MB more.
 */

import { grown, noRow } from '../columns.ts';
import type { Owners } from '../documents/index.ts';
import { PackedNumbers } from '../packed-numbers.ts';
import { leaves, type Usage } from '../quota/index.ts';
import { type KindState, kindStates } from './states.ts';

/** Nearness of an owner to a limit, with the kind of data that is nearest. */
export interface Nearness {
  readonly state: KindState;
  /** The percentage of the limit, as far as owners are compared by it. */
  readonly fullness: number;
}

/** The values that an owner is counted with. */
export interface CountedOwner extends Nearness {
  readonly id: number;
  readonly usage: Usage;
  /** The limit for everything; -1: none. */
  readonly limit: number;
}

export class CountedOwners {
  readonly #keys: Owners['keys'];
  #size = 0;
  readonly #usages = new PackedNumbers(leaves.length);
  #ids = new Float64Array(0);
  #fullness = new Float64Array(0);
  #limits = new Float64Array(0);
  #states = new Uint8Array(0);

  constructor(keys: Owners['keys']) {
    this.#keys = keys;
  }

  get size(): number {
    return this.#size;
  }

  /** The keys of all owners; may be gone through while owners come and go. */
  *keys(): Generator<string> {
    for (let row = 0; row < this.#ids.length; row += 1) if (this.#usages.has(row)) yield this.#keys.key(row);
  }

  /** The row of an owner who is counted, or `noRow`. */
  rowOf(ownerKey: string): number {
    const row = this.#keys.find(ownerKey);
    return this.#usages.has(row) ? row : noRow;
  }

  get(ownerKey: string): CountedOwner | undefined {
    const row = this.#keys.find(ownerKey);
    const usage = this.#usages.get(row);
    const nearness = this.nearnessAt(row);
    if (usage === undefined || nearness === undefined) return undefined;
    return { ...nearness, id: this.#ids[row] ?? 0, usage, limit: this.#limits[row] ?? 0 };
  }

  /** Undefined where nobody is counted in a row. */
  nearnessAt(row: number): Nearness | undefined {
    if (!this.#usages.has(row)) return undefined;
    return { state: kindStates[this.#states[row] ?? 0] ?? 'ok', fullness: this.#fullness[row] ?? 0 };
  }

  /** The id of the owner in a row; undefined where nobody is counted there. */
  idIn(row: number): number | undefined {
    return this.#usages.has(row) ? this.#ids[row] : undefined;
  }

  /** Gives the owner's row. */
  set(ownerKey: string, { id, usage, state, fullness, limit }: CountedOwner): number {
    const row = this.#rowFor(ownerKey);
    this.#usages.set(row, usage);
    this.#ids[row] = id;
    this.#fullness[row] = fullness;
    this.#limits[row] = limit;
    this.#states[row] = kindStates.indexOf(state);
    return row;
  }

  delete(ownerKey: string): void {
    const row = this.rowOf(ownerKey);
    if (row === noRow) return;
    this.#size -= 1;
    this.#usages.delete(row);
    this.#keys.release(row);
  }

  #rowFor(ownerKey: string): number {
    const known = this.rowOf(ownerKey);
    if (known !== noRow) return known;
    const row = this.#keys.hold(ownerKey);
    this.#size += 1;
    this.#ids = grown(this.#ids, row + 1);
    this.#fullness = grown(this.#fullness, row + 1);
    this.#limits = grown(this.#limits, row + 1);
    this.#states = grown(this.#states, row + 1);
    return row;
  }
}
