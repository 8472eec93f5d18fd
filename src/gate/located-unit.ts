/** A unit that is known, or was found on the disk, or is about to be made. */

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
