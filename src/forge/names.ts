/**
 * Names of repositories as numbers of 48 bits, in ascending order: six million bytes for a million names.
 *
 * The hash is seeded, so that nobody can choose a name that stands for another one.
 */

import { createHash } from 'node:crypto';

/** `name`: `owner/name`, in lower case. */
export function repositoryHash(seed: string, name: string): number {
  return createHash('sha1').update(seed).update(name).digest().readUIntBE(0, 6);
}

/** Tells whether a number is among others in ascending order. */
export function isAmong(sorted: Float64Array, wanted: number): boolean {
  return rowOf(sorted, wanted) !== -1;
}

/** The owners of repositories by the hashes of their names, which ascend. */
export interface PlaceOwnerColumns {
  readonly hashes: Float64Array;
  readonly ownerIds: Float64Array;
}

/** The hashes may come in any order. */
export function placeOwnerColumns(hashes: readonly number[], ownerIds: readonly number[]): PlaceOwnerColumns {
  const order = Uint32Array.from(hashes.keys()).sort((a, b) => (hashes[a] ?? 0) - (hashes[b] ?? 0));
  return {
    hashes: Float64Array.from(order, at => hashes[at] ?? 0),
    ownerIds: Float64Array.from(order, at => ownerIds[at] ?? 0),
  };
}

/** The forge's id of the owner; null: there is none. */
export function ownerIdIn({ hashes, ownerIds }: PlaceOwnerColumns, hash: number): number | null {
  return ownerIds[rowOf(hashes, hash)] ?? null;
}

/** The place of a number among others in ascending order, or -1. */
function rowOf(sorted: Float64Array, wanted: number): number {
  let [low, high] = [0, sorted.length - 1];
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = sorted[middle] ?? 0;
    if (found === wanted) return middle;
    if (found < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
