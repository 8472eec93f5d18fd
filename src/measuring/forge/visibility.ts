/** Visibility of repositories by the forge's database, and owners of those whose path names none. */

import type { Documents } from '../../documents/index.ts';
import {
  type ForgeReader,
  isAmong,
  ownerIdIn,
  type PlaceOwnerColumns,
  type RepositoryNames,
} from '../../forge/index.ts';
import type { Leaf } from '../../quota/index.ts';
import { ownerNameOf } from './kinds.ts';

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
