/** A unit as the layout describes it, before it is measured. */

import type { Leaf } from '../quota/index.ts';

/** The `[storage.*]` sections; their order is the order of precedence between equal templates. */
export const storageKinds = [
  'repos',
  'wiki',
  'lfs',
  'attachments.issues',
  'attachments.releases',
  'artifacts',
  'packages',
] as const;

export type StorageKind = (typeof storageKinds)[number];

/** Ways of finding a unit's owner (`[storage.*] OWNER`). */
export type OwnerSource =
  | { readonly by: 'path' }
  | { readonly by: 'file'; readonly name: string }
  | { readonly by: 'git-config'; readonly key: string }
  | { readonly by: 'fixed'; readonly name: string }
  /** A forge's database tells, which no walk knows. */
  | { readonly by: 'forge' };

/** `[storage.repos] VISIBILITY`; with `forge` a forge's database tells, which no walk knows. */
export type Visibility = 'export-ok' | 'public' | 'private' | 'forge';

/** One `[storage.*]` section, as configured. */
export interface StorageSettings {
  readonly kind: StorageKind;
  /** Absolute templates, as written. */
  readonly templates: readonly string[];
  readonly owner: OwnerSource;
  /** Only for storage.repos. */
  readonly visibility: Visibility;
  /** The templates that another host walks, see `[scan] ROOTS`: paths there are located, and not measured. */
  readonly elsewhere?: readonly string[];
}

/** A directory that is a unit. */
export interface Unit {
  /** Physical and absolute (see path.ts for bytes that are not UTF-8). */
  readonly path: string;
  readonly kind: StorageKind;
  /** Null where nobody can be told; `ownerFault` says why, unless a forge's database tells. */
  readonly owner: string | null;
  readonly ownerFault?: string;
  readonly leaf: Leaf;
}
