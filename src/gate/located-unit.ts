/** A unit that is known, or was found on the disk, or is about to be made. */

import type { Ledger } from '../ledger/index.ts';
import type { Leaf } from '../quota/index.ts';

export interface LocatedUnit {
  readonly path: string;
  /** Null where nobody could be told. */
  readonly owner: string | null;
  readonly leaf: Leaf;
  /** Null where it was never measured. */
  readonly bytes: number | null;
  /** Another host measures it; not, unless given. */
  readonly isElsewhere?: boolean;
}

/** A path inside a unit is that unit; null: none is known there. */
export function knownUnitAt({ units }: Pick<Ledger, 'units'>, path: string): LocatedUnit | null {
  const known = units.unitAt(path);
  if (known === null) return null;
  const { name, owner, leaf, bytes } = known;
  return { path: name, owner, leaf, bytes };
}
