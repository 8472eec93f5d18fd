/**
 * The deltas that programs reported on top of one owner's walked units of one leaf, oldest first.
 *
 * A delta is dropped once each walked unit of the leaf has had a walk that began after the delta, also one
 * that could not measure the unit. So the oldest delta is dropped first, and it is enough to count the units
 * that this one still waits for: a sweep over 100,000 units of one owner goes through them once, and not once
 * for each unit.
 */

import type { Leaf } from '../quota/index.ts';
import type { DeltaRecord, UnitRecord } from '../store/index.ts';

/** A delta with the time at which it lapses if its owner has no walked units of that leaf. */
export interface Delta {
  readonly record: DeltaRecord;
  /** On the monotonic clock, milliseconds. */
  readonly lapsesAt: number;
}

export class LeafDeltas {
  readonly leaf: Leaf;
  #deltas: Delta[] = [];
  /** A big integer, since negative deltas together may pass what a number holds exactly. */
  #bytes = 0n;
  #walked = 0;
  /** Number of walked units whose last walk began before the oldest delta. */
  #behind = 0;

  constructor(leaf: Leaf, units: Iterable<UnitRecord>) {
    this.leaf = leaf;
    for (const unit of units) if (this.#concerns(unit)) this.#walked += 1;
  }

  get isEmpty(): boolean {
    return this.#deltas.length === 0;
  }

  get bytes(): bigint {
    return this.#bytes;
  }

  /** Adds a delta, which must be later than all others here; `units` are the owner's. */
  add(delta: Delta, units: Iterable<UnitRecord>): void {
    this.#deltas.push(delta);
    this.#bytes += BigInt(delta.record.bytes);
    if (this.#deltas.length === 1) this.#countBehind(units);
  }

  /** Updates the counts after one of the owner's units was added, changed or removed. */
  unitChanged(before: UnitRecord | undefined, after: UnitRecord | undefined): void {
    for (const [unit, step] of [[before, -1] as const, [after, 1] as const]) {
      if (unit === undefined || !this.#concerns(unit)) continue;
      this.#walked += step;
      if (unit.seq < this.#oldestSeq()) this.#behind += step;
    }
  }

  /** Drops deltas that walks have overtaken, or if no unit is walked, lapsed ones. Returns the dropped. */
  settle(units: Iterable<UnitRecord>, monotonicNow: number): readonly DeltaRecord[] {
    if (this.#behind > 0) return [];
    const oldestWalk = this.#oldestWalk(units);
    const isOver = ({ record, lapsesAt }: Delta) =>
      oldestWalk === null ? lapsesAt <= monotonicNow : record.seq < oldestWalk;
    const over = this.#deltas.filter(isOver).map(({ record }) => record);
    if (over.length === 0) return over;
    this.#deltas = this.#deltas.filter(delta => !isOver(delta));
    for (const { bytes } of over) this.#bytes -= BigInt(bytes);
    this.#countBehind(units);
    return over;
  }

  /** Returns the place in the order of walks (`seq`) of the leaf's oldest walk; null: no unit is walked. */
  #oldestWalk(units: Iterable<UnitRecord>): number | null {
    if (this.#walked === 0) return null;
    let oldest = Number.POSITIVE_INFINITY;
    for (const unit of units) if (this.#concerns(unit)) oldest = Math.min(oldest, unit.seq);
    return oldest;
  }

  #countBehind(units: Iterable<UnitRecord>): void {
    const oldest = this.#oldestSeq();
    this.#behind = 0;
    for (const unit of units) if (this.#concerns(unit) && unit.seq < oldest) this.#behind += 1;
  }

  #oldestSeq(): number {
    return this.#deltas[0]?.record.seq ?? Number.NEGATIVE_INFINITY;
  }

  #concerns(unit: UnitRecord): boolean {
    return unit.kind === 'walked' && unit.leaf === this.leaf;
  }
}
