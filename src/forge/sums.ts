/** The bytes of every owner by leaf, packed, and those of nobody. */

import { type ForgeLeaf, forgeLeaves, type Unowned, type UnownedReason, unownedReasons } from './picture.ts';

/** One part of a reading, such as all LFS objects, which is replaced as a whole. */
export class PartSums {
  readonly #leaves: readonly ForgeLeaf[];
  readonly #owners: number;
  readonly #bytes: Float64Array;
  readonly #unowned = new Map<UnownedReason, { count: number; bytes: number }>();
  /** Bytes that count for an owner although another one has the same object. */
  sharedBytes = 0;

  /** `owners`: how many there are; they are known by their rows. */
  constructor(leaves: readonly ForgeLeaf[], owners: number) {
    this.#leaves = leaves;
    this.#owners = owners;
    this.#bytes = new Float64Array(leaves.length * owners);
  }

  add(leaf: ForgeLeaf, ownerRow: number, bytes: number): void {
    const at = this.#leaves.indexOf(leaf) * this.#owners + ownerRow;
    this.#bytes[at] = (this.#bytes[at] ?? 0) + bytes;
  }

  addUnowned(reason: UnownedReason, bytes: number): void {
    const sum = this.#unowned.get(reason) ?? { count: 0, bytes: 0 };
    this.#unowned.set(reason, { count: sum.count + 1, bytes: sum.bytes + bytes });
  }

  of(leaf: ForgeLeaf, ownerRow: number): number {
    const index = this.#leaves.indexOf(leaf);
    // Owners who came after the count have nothing in it.
    if (index === -1 || ownerRow >= this.#owners) return 0;
    return this.#bytes[index * this.#owners + ownerRow] ?? 0;
  }

  /** The figures as bytes, to compare them. */
  get raw(): Uint8Array {
    return new Uint8Array(this.#bytes.buffer);
  }

  get leaves(): readonly ForgeLeaf[] {
    return this.#leaves;
  }

  get unowned(): ReadonlyMap<UnownedReason, { readonly count: number; readonly bytes: number }> {
    return this.#unowned;
  }
}

/** All leaves together: the bytes of nobody by their reasons. */
export function unownedIn(parts: Iterable<PartSums>): readonly Unowned[] {
  const all = new Map<UnownedReason, { count: number; bytes: number }>();
  for (const part of parts) {
    for (const [reason, { count, bytes }] of part.unowned) {
      const sum = all.get(reason) ?? { count: 0, bytes: 0 };
      all.set(reason, { count: sum.count + count, bytes: sum.bytes + bytes });
    }
  }
  const reasons = Object.keys(unownedReasons) as UnownedReason[];
  return reasons.flatMap(reason => {
    const sum = all.get(reason);
    return sum === undefined ? [] : [{ reason, ...sum }];
  });
}

export function emptySums(): Record<ForgeLeaf, number> {
  return Object.fromEntries(forgeLeaves.map(leaf => [leaf, 0])) as Record<ForgeLeaf, number>;
}
