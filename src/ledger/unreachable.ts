/** The bytes of one owner's units that no ref reaches: their sums, on this host and on all. */

import { type Leaf, leafIndex, leaves, noUsage, type Usage } from '../quota/index.ts';
import type { ShareRecord, UnitRecord } from '../store/index.ts';

/**
 * The bytes of a unit that no ref reaches. A unit that has become smaller since they were measured has lost
 * some of them; what came since is not among them.
 */
export function unreachableIn(unit: UnitRecord | undefined): number {
  if (unit?.reach === undefined) return 0;
  const { reachableBytes, unreachableBytes } = unit.reach;
  return Math.min(unreachableBytes, Math.max(unit.bytes - reachableBytes, 0));
}

export class UnreachableSum {
  /** Most owners have none. */
  #own = noUsage;
  /** The last sum, and what it is of. */
  #all: { readonly own: Usage; readonly shares: unknown; readonly sum: Usage | null } | null = null;

  get own(): Usage {
    return this.#own;
  }

  /** Tells that no unit has unreachable bytes. */
  get isNothing(): boolean {
    return this.#own.every(bytes => bytes === 0);
  }

  /** One of the units has become another, come or gone; true where this changes the sum. */
  unitChanged(before: UnitRecord | undefined, after: UnitRecord | undefined): boolean {
    const [was, is] = [unreachableIn(before), unreachableIn(after)];
    if (was === is && (is === 0 || before?.leaf === after?.leaf)) return false;
    const next = [...this.#own];
    if (before !== undefined) addTo(next, before.leaf, -was);
    if (after !== undefined) addTo(next, after.leaf, is);
    this.#own = next;
    return true;
  }

  /** Unreachable bytes with those that other hosts report, another list after each change; null: none. */
  with(shares: ReadonlyMap<string, ShareRecord>): Usage | null {
    const own = this.#own;
    if (this.#all?.own !== own || this.#all.shares !== shares) {
      const others = [...shares.values()].flatMap(({ unreachable }) => unreachable ?? []);
      const sum = leaves.map((leaf, index) =>
        others.reduce((bytes, other) => bytes + (other[leaf] ?? 0), own[index] ?? 0),
      );
      this.#all = { own, shares, sum: sum.some(bytes => bytes > 0) ? sum : null };
    }
    return this.#all.sum;
  }
}

/** Adds to the bytes of one leaf. */
export function addTo(sums: number[], leaf: Leaf, bytes: number): void {
  const index = leafIndex(leaf);
  sums[index] = (sums[index] ?? 0) + bytes;
}
