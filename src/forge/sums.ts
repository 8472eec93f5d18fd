/** The bytes of every owner by leaf, packed, and those of nobody. */

import { type ForgeLeaf, type Unowned, type UnownedReason, unownedReasons } from './picture.ts';

/** In place of an owner's row: nothing says whose it is. */
export const nobody = -1;
/** In place of an owner's row: the database does not have the owner. */
export const missingOwner = -2;

/** One part of a reading, such as all LFS objects, which is replaced as a whole. */
export class PartSums {
  readonly leaves: readonly ForgeLeaf[];
  readonly #owners: number;
  readonly #bytes: Float64Array;
  readonly unowned = new Map<UnownedReason, { count: number; bytes: number }>();

  /** `owners`: how many there are; they are known by their rows. */
  constructor(leaves: readonly ForgeLeaf[], owners: number) {
    this.leaves = leaves;
    this.#owners = owners;
    this.#bytes = new Float64Array(leaves.length * owners);
  }

  /** Adds to an owner, or to nobody. */
  add(leaf: ForgeLeaf, ownerRow: number, bytes: number, orphaned: UnownedReason): void {
    if (ownerRow >= 0) {
      const at = this.leaves.indexOf(leaf) * this.#owners + ownerRow;
      this.#bytes[at] = (this.#bytes[at] ?? 0) + bytes;
      return;
    }
    const reason = ownerRow === missingOwner ? 'owner_missing' : orphaned;
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
