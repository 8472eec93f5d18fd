/** Visibility of repositories by the forge's database, and owners of those whose path names none. */

import type { Documents } from '../../documents/index.ts';
import {
  type ForgeReader,
  isAmong,
  ownerIdIn,
  type PlaceOwnerColumns,
  type RepositoryNames,
} from '../../forge/index.ts';
import type { StorageSettings } from '../../layout/index.ts';
import type { Leaf } from '../../quota/index.ts';
import { ownerNameOf } from './owners.ts';

export class ForgeVisibility {
  readonly #reader: ForgeReader;
  readonly #documents: Documents;
  #publicHashes: Float64Array | null = null;
  #owners: PlaceOwnerColumns | null = null;

  constructor(reader: ForgeReader, documents: Documents) {
    this.#reader = reader;
    this.#documents = documents;
  }

  take({ publicHashes, owners }: RepositoryNames): void {
    this.#publicHashes = publicHashes;
    this.#owners = owners;
  }

  /** The leaf of the repository at this path; null while nothing was read. */
  leafOf(path: string): Leaf | null {
    if (this.#publicHashes === null) return null;
    const isPublic = isAmong(this.#publicHashes, this.#reader.hashOf(repositoryNameOf(path)));
    return isPublic ? 'size:repos:public' : 'size:repos:private';
  }

  /** The owner of the repository at this path; null for nobody, and undefined while it is not known. */
  ownerOf(path: string): string | null | undefined {
    if (this.#owners === null) return undefined;
    const id = ownerIdIn(this.#owners, this.#reader.hashOf(repositoryNameOf(path)));
    return id === null ? null : (ownerNameOf(this.#documents, id) ?? undefined);
  }
}

/** The owner and the leaf that a unit counts for. */
export interface Attribution {
  readonly leaf: Leaf;
  readonly owner: string | null;
}

/**
 * Finds out what a unit counts for, if a forge's database knows it and no walk does. `found`: as a walk has
 * it; `known`: as the ledger has it; `visibility`: null if no forge's database is read.
 */
export function attributed(
  path: string,
  found: Attribution,
  known: Attribution | undefined,
  storages: readonly StorageSettings[],
  visibility: Pick<ForgeVisibility, 'leafOf' | 'ownerOf'> | null,
): Attribution {
  const isForges = storages.some(each => each.visibility === 'forge');
  const hasVisibility = found.leaf === 'size:repos:public' || found.leaf === 'size:repos:private';
  const leaf =
    hasVisibility && visibility !== null && isForges
      ? (visibility.leafOf(path) ?? known?.leaf ?? found.leaf)
      : found.leaf;
  const kind = leaf === 'size:assets:wiki' ? 'wiki' : leaf.startsWith('size:repos:') ? 'repos' : null;
  if (!storages.some(one => one.kind === kind && one.owner.by === 'forge'))
    return { leaf, owner: found.owner };
  const owner = visibility?.ownerOf(path);
  return { leaf, owner: owner === undefined ? (known?.owner ?? null) : owner };
}

/** Tells whether it is the repository of another one's wiki or designs. */
export function isBeside(path: string): boolean {
  return /\.(?:wiki|design)\.git$/.test(path);
}

/**
 * The name by which a forge's database knows a repository: `owner/name` in lower case, for
 * `…/owner/name.git`. Returns the kind and the hash of GitLab's hashed directories, `@hashed/…`: a project's
 * wiki and its designs lie beside it.
 */
export function repositoryNameOf(path: string): string {
  const hashed =
    /\/(@(?:hashed|snippets|pools)\/)(?:[^/]+\/){2}([0-9a-f]{64})(?:\.wiki|\.design)?\.git$/.exec(path);
  if (hashed !== null) return `${hashed[1]}${hashed[2]}`;
  const [owner = '', name = ''] = path.split('/').slice(-2);
  return `${owner}/${name.replace(/\.git$/, '')}`.toLowerCase();
}
