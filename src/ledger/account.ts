/**
 * One owner's page of the ledger: the units, what is reported on top of them, and the sums.
 *
 * Sums are kept up to date with each change, so that asking for them costs nothing. Where a sum
 * would pass 2^53 - 1 it is not kept, and asking for it is an error until it fits again.
 */

import { SoftquotaError } from '../errors.ts';
import {
  addBytes,
  bytesUnder,
  type Leaf,
  leafIndex,
  leafMask,
  leaves,
  printable,
  type Usage,
} from '../quota/index.ts';
import type { DeltaRecord, OwnerRecord, UnitRecord } from '../store/index.ts';

/** A delta, and when it lapses if its owner has no walked units under that leaf. */
export interface Delta {
  readonly record: DeltaRecord;
  /** On the monotonic clock, milliseconds. */
  readonly lapsesAt: number;
}

export class Account {
  readonly owner: OwnerRecord;
  readonly #units = new Map<string, UnitRecord>();
  #deltas: Delta[] = [];
  #usage: Usage | null = null;
  #measuredAt: number | null = null;
  #partialUnits = 0;

  constructor(owner: OwnerRecord) {
    this.owner = owner;
  }

  get units(): Iterable<UnitRecord> {
    return this.#units.values();
  }

  get deltas(): readonly Delta[] {
    return this.#deltas;
  }

  /** Some of its bytes are last known ones. */
  get partial(): boolean {
    return this.#partialUnits > 0;
  }

  /** Whether `usage` can be added up exactly. */
  get fits(): boolean {
    try {
      return bytesUnder(this.usage, leafMask('size:all')) >= 0;
    } catch {
      return false;
    }
  }

  /** Bytes per leaf; throws `sum_too_large`. */
  get usage(): Usage {
    this.#usage ??= this.#sum();
    return this.#usage;
  }

  /** When the oldest of its measurements was made, in milliseconds since 1970; null without any. */
  get measuredAt(): number | null {
    if (this.#measuredAt === null) {
      for (const unit of this.#units.values()) {
        if (this.#measuredAt === null || unit.measuredAt < this.#measuredAt)
          this.#measuredAt = unit.measuredAt;
      }
    }
    return this.#measuredAt;
  }

  put(unit: UnitRecord): void {
    const before = this.#units.get(unit.id);
    this.#units.set(unit.id, unit);
    this.#partialUnits += Number(unit.partial) - Number(before?.partial ?? false);
    this.#changed(before, unit);
  }

  take(id: string): void {
    const before = this.#units.get(id);
    if (before === undefined) return;
    this.#units.delete(id);
    this.#partialUnits -= Number(before.partial);
    this.#changed(before, undefined);
  }

  addDelta(delta: Delta): void {
    this.#deltas.push(delta);
    this.#usage = null;
  }

  /**
   * Drops the deltas that walks have overtaken: those older than every walk of the leaf's walked
   * units, and, without any, those that have lapsed. Returns the dropped.
   */
  settleDeltas(monotonicNow: number): readonly DeltaRecord[] {
    if (this.#deltas.length === 0) return [];
    const oldestWalk = new Map<Leaf, number>();
    for (const unit of this.#units.values()) {
      if (unit.kind !== 'walked') continue;
      const known = oldestWalk.get(unit.leaf);
      if (known === undefined || unit.seq < known) oldestWalk.set(unit.leaf, unit.seq);
    }
    const isOver = ({ record, lapsesAt }: Delta): boolean => {
      const walked = oldestWalk.get(record.leaf);
      return walked === undefined ? lapsesAt <= monotonicNow : record.seq < walked;
    };
    const over = this.#deltas.filter(isOver);
    if (over.length > 0) {
      this.#deltas = this.#deltas.filter(delta => !over.includes(delta));
      this.#usage = null;
    }
    return over.map(delta => delta.record);
  }

  #changed(before: UnitRecord | undefined, after: UnitRecord | undefined): void {
    this.#measuredAt = null;
    const usage = this.#usage;
    // Deltas are clamped at 0 per leaf, so that with any of them only a whole sum is right.
    if (usage === null || this.#deltas.length > 0) {
      this.#usage = null;
      return;
    }
    const next = [...usage];
    if (before !== undefined)
      next[leafIndex(before.leaf)] = (next[leafIndex(before.leaf)] ?? 0) - before.bytes;
    if (after !== undefined) next[leafIndex(after.leaf)] = (next[leafIndex(after.leaf)] ?? 0) + after.bytes;
    this.#usage = next.every(Number.isSafeInteger) ? next : null;
  }

  #sum(): Usage {
    const sums = leaves.map(() => 0);
    const add = (leaf: Leaf, bytes: number) => {
      const index = leafIndex(leaf);
      sums[index] = addBytes(sums[index] ?? 0, bytes);
    };
    try {
      for (const unit of this.#units.values()) add(unit.leaf, unit.bytes);
      for (const { record } of this.#deltas) add(record.leaf, record.bytes);
    } catch (cause) {
      const name = printable(this.owner.name);
      throw new SoftquotaError('sum_too_large', `${name}'s units together pass 2^53 - 1 bytes`, { cause });
    }
    return sums.map(bytes => Math.max(0, bytes));
  }
}
