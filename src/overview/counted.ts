/**
 * The figures by which owners are counted, in columns: with an object each, a million owners take 80 MB
 * more.
 */

import { grown } from '../columns.ts';
import { noUsage, type Usage } from '../quota/index.ts';
import type { OwnerState } from '../wire/index.ts';

/** How near an owner is to a limit, with the kind of data that is nearest. */
export interface Nearness {
  readonly state: OwnerState;
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

const states: readonly OwnerState[] = ['ok', 'near', 'grace', 'over'];

export class CountedOwners {
  readonly #rows = new Map<string, number>();
  readonly #free: number[] = [];
  readonly #usages: Usage[] = [];
  #ids = new Float64Array(0);
  #fullness = new Float64Array(0);
  #limits = new Float64Array(0);
  #states = new Uint8Array(0);

  get size(): number {
    return this.#rows.size;
  }

  /** The keys of all owners; may be gone through while owners come and go. */
  keys(): Iterable<string> {
    return this.#rows.keys();
  }

  get(ownerKey: string): CountedOwner | undefined {
    const row = this.#rows.get(ownerKey);
    if (row === undefined) return undefined;
    return {
      id: this.#ids[row] ?? 0,
      usage: this.#usages[row] ?? noUsage,
      state: states[this.#states[row] ?? 0] ?? 'ok',
      fullness: this.#fullness[row] ?? 0,
      limit: this.#limits[row] ?? 0,
    };
  }

  set(ownerKey: string, { id, usage, state, fullness, limit }: CountedOwner): void {
    const row = this.#rows.get(ownerKey) ?? this.#free.pop() ?? this.#rows.size;
    if (row >= this.#ids.length) this.#makeRoomFor(row);
    this.#rows.set(ownerKey, row);
    this.#usages[row] = usage;
    this.#ids[row] = id;
    this.#fullness[row] = fullness;
    this.#limits[row] = limit;
    this.#states[row] = states.indexOf(state);
  }

  delete(ownerKey: string): void {
    const row = this.#rows.get(ownerKey);
    if (row === undefined) return;
    this.#rows.delete(ownerKey);
    this.#usages[row] = noUsage;
    this.#free.push(row);
  }

  #makeRoomFor(row: number): void {
    this.#ids = grown(this.#ids, row + 1);
    this.#fullness = grown(this.#fullness, row + 1);
    this.#limits = grown(this.#limits, row + 1);
    this.#states = grown(this.#states, row + 1);
  }
}
