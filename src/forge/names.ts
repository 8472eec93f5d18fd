/**
 * Names of repositories as numbers of 48 bits, in ascending order: six million bytes for a million names.
 *
 * The hash is seeded, so that nobody can choose a name that stands for another one.
 */

import { createHash } from 'node:crypto';
import { rowIn } from './id-table.ts';

/** `name`: `owner/name`, in lower case. */
export function repositoryHash(seed: string, name: string): number {
  return createHash('sha1').update(seed).update(name).digest().readUIntBE(0, 6);
}

/** Tells whether a number is among others in ascending order. */
export function isAmong(sorted: Float64Array, wanted: number): boolean {
  return rowIn(sorted, sorted.length, wanted) !== -1;
}

/** Columns of a table by hashes in ascending order. */
export interface PlaceOwnerColumns {
  readonly hashes: Float64Array<ArrayBuffer>;
  readonly ownerIds: Float64Array<ArrayBuffer>;
}

/** The owners of repositories by the hashes of their names, sixteen bytes each. */
export class PlaceOwners {
  #hashes: number[] = [];
  #ownerIds: number[] = [];
  #columns: PlaceOwnerColumns = { hashes: new Float64Array(), ownerIds: new Float64Array() };

  add(hash: number, ownerId: number): void {
    this.#hashes.push(hash);
    this.#ownerIds.push(ownerId);
  }

  /** After the last one, before anybody is asked for. */
  sort(): void {
    const [hashes, ownerIds] = [this.#hashes, this.#ownerIds];
    const order = Uint32Array.from(hashes.keys()).sort((a, b) => (hashes[a] ?? 0) - (hashes[b] ?? 0));
    this.#columns = {
      hashes: Float64Array.from(order, at => hashes[at] ?? 0),
      ownerIds: Float64Array.from(order, at => ownerIds[at] ?? 0),
    };
    this.#hashes = [];
    this.#ownerIds = [];
  }

  ownerIdOf(hash: number): number | null {
    return ownerIdIn(this.#columns, hash);
  }

  equals(other: PlaceOwners | null): boolean {
    if (other === null) return false;
    const [own, its] = [this.#columns, other.#columns];
    return (
      own.hashes.length === its.hashes.length &&
      own.hashes.every((hash, at) => hash === its.hashes[at] && own.ownerIds[at] === its.ownerIds[at])
    );
  }

  /** A copy, which can be given away. */
  columns(): PlaceOwnerColumns {
    return { hashes: this.#columns.hashes.slice(), ownerIds: this.#columns.ownerIds.slice() };
  }
}

/** The forge's id of the owner; null: there is none. */
export function ownerIdIn({ hashes, ownerIds }: PlaceOwnerColumns, hash: number): number | null {
  const row = rowIn(hashes, hashes.length, hash);
  return row === -1 ? null : (ownerIds[row] ?? null);
}
