/** The bytes of every owner by leaf, packed, and those of nobody. */

import { type ForgeLeaf, forgeLeaves, type Unowned, type UnownedReason, unownedReasons } from './picture.ts';

/** An owner's row, or why there is none. */
export type RowOwner = number | 'no repository' | 'no owner';

/** One part of a reading, such as all LFS objects, which is replaced as a whole. */
export class PartSums {
  readonly leaves: readonly ForgeLeaf[];
  readonly #owners: number;
  readonly #bytes: Float64Array;
  readonly unowned = new Map<UnownedReason, { count: number; bytes: number }>();
  /** Bytes that count for an owner although another one has the same object. */
  sharedBytes = 0;

  /** `owners`: how many there are; they are known by their rows. */
  constructor(leaves: readonly ForgeLeaf[], owners: number) {
    this.leaves = leaves;
    this.#owners = owners;
    this.#bytes = new Float64Array(leaves.length * owners);
  }

  add(leaf: ForgeLeaf, ownerRow: number, bytes: number): void {
    const at = this.leaves.indexOf(leaf) * this.#owners + ownerRow;
    this.#bytes[at] = (this.#bytes[at] ?? 0) + bytes;
  }

  /** Adds to an owner, or to nobody. */
  addTo(leaf: ForgeLeaf, owner: RowOwner, bytes: number, orphaned: UnownedReason): void {
    if (typeof owner === 'number') this.add(leaf, owner, bytes);
    else this.addUnowned(owner === 'no owner' ? 'owner_missing' : orphaned, bytes);
  }

  addUnowned(reason: UnownedReason, bytes: number): void {
    const sum = this.unowned.get(reason) ?? { count: 0, bytes: 0 };
    this.unowned.set(reason, { count: sum.count + 1, bytes: sum.bytes + bytes });
  }

  of(leaf: ForgeLeaf, ownerRow: number): number {
    const index = this.leaves.indexOf(leaf);
    // Owners who came after the count have nothing in it.
    if (index === -1 || ownerRow >= this.#owners) return 0;
    return this.#bytes[index * this.#owners + ownerRow] ?? 0;
  }

  /** The figures as bytes, to compare them. */
  get raw(): Uint8Array {
    return new Uint8Array(this.#bytes.buffer);
  }
}

/** All leaves together: the bytes of nobody by their reasons. */
export function unownedIn(parts: readonly PartSums[]): readonly Unowned[] {
  const reasons = Object.keys(unownedReasons) as UnownedReason[];
  return reasons.flatMap(reason => {
    const sums = parts.map(part => part.unowned.get(reason) ?? { count: 0, bytes: 0 });
    const count = sums.reduce((sum, one) => sum + one.count, 0);
    return count === 0 ? [] : [{ reason, count, bytes: sums.reduce((sum, one) => sum + one.bytes, 0) }];
  });
}

export function emptySums(): Record<ForgeLeaf, number> {
  return Object.fromEntries(forgeLeaves.map(leaf => [leaf, 0])) as Record<ForgeLeaf, number>;
}
