/** The messages between the parts of a fleet. What follows from each is in `Fleet`, and nowhere else. */

import type { OwnerRecord, ShareRecord } from '../store/index.ts';

export type FleetMessage =
  /** The name was lost: what is told under it from now on is another's. */
  | { readonly is: 'name lost' }
  /** The name is this daemon's again: what another told under it meanwhile has to be put right. */
  | { readonly is: 'name regained' }
  /** The shared store has fallen back, or was emptied: what this host said to it may be lost. */
  | { readonly is: 'store fell back' }
  /** Changes that the shared store had lost were written again. */
  | { readonly is: 'changes restored'; readonly count: number }
  /** Others knew these owners before. */
  | { readonly is: 'owners met'; readonly owners: readonly OwnerRecord[] }
  /** The shared store has these owners on record. */
  | { readonly is: 'owners enrolled'; readonly owners: readonly OwnerRecord[] }
  /** From now on it is read what the shared store has of this host. */
  | { readonly is: 'own shares asked' }
  /** All that the shared store was found to have of this host. */
  | { readonly is: 'own shares found'; readonly shares: readonly ShareRecord[] }
  /** A write that failed is tried again. */
  | { readonly is: 'telling failed'; readonly error: unknown };

export type Tell = (message: FleetMessage) => void;
