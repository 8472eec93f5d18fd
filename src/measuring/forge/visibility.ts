/** Visibility of repositories by the forge's database, and owners of those whose path names none. */

import type { Documents } from '../../documents/index.ts';
import {
  type Claim,
  claimsIn,
  type ForgeReader,
  isAmong,
  type PlaceColumns,
  type RepositoryNames,
} from '../../forge/index.ts';
import { isOfCluster, isPool, type StorageSettings } from '../../layout/index.ts';
import type { Leaf } from '../../quota/index.ts';
import { ownerNameOf } from './owners.ts';

/** A repository whose path names nobody, as the forge's database has it. */
export interface KnownPlace {
  /** Null for nobody, and undefined while it is not known. */
  readonly owner: string | null | undefined;
  readonly leaf: Leaf;
  /** The name by which people know it; null where the database does not have it. */
  readonly title: string | null;
  /** It is what forks of a project that is gone have in common, and counts for one of them. */
  readonly isInherited: boolean;
}

/** A pool whose project is gone counts for another owner. */
export interface Inherited {
  readonly owner: string;
  /** The owner for whom it counted before. */
  readonly from: string;
  /** Its title. */
  readonly repository: string;
  readonly bytes: number;
}

export class ForgeVisibility {
  readonly #reader: ForgeReader;
  readonly #documents: Documents;
  #publicHashes: Float64Array | null = null;
  #places: PlaceColumns | null = null;
  /** The ids of the owners for whom pools count, by hashes; the ledger only has names, which change. */
  readonly #poolOwners = new Map<number, number | undefined>();

  constructor(reader: ForgeReader, documents: Documents) {
    this.#reader = reader;
    this.#documents = documents;
  }

  take({ publicHashes, places }: RepositoryNames): void {
    this.#publicHashes = publicHashes;
    this.#places = places;
  }

  /** The leaf of the repository at this path; null while nothing was read. */
  leafOf(path: string): Leaf | null {
    if (this.#publicHashes === null) return null;
    return leafFor(isAmong(this.#publicHashes, this.#reader.hashOf(repositoryNameOf(path))));
  }

  /**
   * The repository at this path; null where paths name the owners, or while nothing was read. `counted`: the
   * owner for whom it counts by the ledger. Of several who may have a pool, the one who had it goes on.
   */
  placed(path: string, counted: string | null): KnownPlace | null {
    if (this.#places === null) return null;
    const hash = this.#reader.hashOf(repositoryNameOf(path));
    const claims = claimsIn(this.#places, hash);
    const nameOf = ({ ownerId }: Claim) => ownerNameOf(this.#documents, ownerId) ?? undefined;
    const before = this.#poolOwners.get(hash);
    const hadIt = (claim: Claim) =>
      before === undefined ? nameOf(claim) === counted : claim.ownerId === before;
    const claim = claims.length > 1 ? (claims.find(hadIt) ?? claims[0]) : claims[0];
    if (isPool(path)) this.#poolOwners.set(hash, claim?.ownerId);
    if (claim === undefined)
      return { owner: null, leaf: 'size:repos:private', title: null, isInherited: false };
    const { title, isPublic, isInherited, isWiki } = claim;
    const leaf = isWiki ? 'size:assets:wiki' : leafFor(isPublic);
    const [beside = ''] = /\.(?:wiki|design)(?=\.git$)/.exec(path) ?? [];
    return { owner: nameOf(claim), leaf, title: `${title}${beside}`, isInherited };
  }
}

function leafFor(isPublic: boolean): Leaf {
  return isPublic ? 'size:repos:public' : 'size:repos:private';
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
  visibility: Pick<ForgeVisibility, 'leafOf' | 'placed'> | null,
): Attribution {
  const isForges = storages.some(each => each.visibility === 'forge');
  const hasVisibility =
    isOfCluster(path) || found.leaf === 'size:repos:public' || found.leaf === 'size:repos:private';
  const placed = visibility?.placed(path, known?.owner ?? null) ?? null;
  const leaf =
    hasVisibility && visibility !== null && isForges
      ? (placed?.leaf ?? visibility.leafOf(path) ?? known?.leaf ?? found.leaf)
      : found.leaf;
  const kind = hasVisibility ? 'repos' : found.leaf === 'size:assets:wiki' ? 'wiki' : null;
  if (!storages.some(one => one.kind === kind && one.owner.by === 'forge'))
    return { leaf, owner: found.owner };
  const owner = placed?.owner;
  return { leaf, owner: owner === undefined ? (known?.owner ?? null) : owner };
}

/** Tells whether it is the repository of another one's wiki or designs. */
export function isBeside(path: string): boolean {
  return /\.(?:wiki|design)\.git$/.test(path);
}

/**
 * The name by which a forge's database knows a repository: `owner/name` in lower case, for
 * `…/owner/name.git`. Returns the kind and the hash of GitLab's hashed directories, `@hashed/…`: a project's
 * wiki and its designs lie beside it. A replica of a Gitaly Cluster is known by `@cluster/…` and all behind.
 */
export function repositoryNameOf(path: string): string {
  const hashed =
    /\/(@(?:hashed|snippets|pools)\/)(?:[^/]+\/){2}([0-9a-f]{64})(?:\.wiki|\.design)?\.git$/.exec(path);
  if (hashed !== null) return `${hashed[1]}${hashed[2]}`;
  const [, replica] = /\/(@cluster\/(?:repositories|pools)\/(?:[^/]+\/){2}\d+)$/.exec(path) ?? [];
  if (replica !== undefined) return replica;
  const [owner = '', name = ''] = path.split('/').slice(-2);
  return `${owner}/${name.replace(/\.git$/, '')}`.toLowerCase();
}
