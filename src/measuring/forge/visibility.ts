/**
 * Knows by the forge's database which repositories are public, and who owns those without owner in the path.
 */

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

/** The forge's entry for a repository whose path names no owner. */
export interface KnownPlace {
  /** Null: nobody here, see `isCountedElsewhere`; undefined: the owner is not known yet. */
  readonly owner: string | null | undefined;
  readonly leaf: Leaf;
  /** Name for people; null if the database does not have the repository. */
  readonly title: string | null;
  /** True for a pool whose project is gone: it counts for the owner of one of the forks. */
  readonly isInherited: boolean;
}

/** A pool whose project is gone, and that counts for another owner now. */
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
  /** Ids of the owners for whom pools count, by the pools' hashes. The ledger has names, which change. */
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
   * Returns the entry for the repository at this path; null if paths name the owners, or nothing was read
   * yet. `counted`: the owner in the ledger. If several owners may have a pool, the one who had it keeps it.
   */
  placed(path: string, counted: string | null): KnownPlace | null {
    if (this.#places === null) return null;
    const hash = this.#reader.hashOf(repositoryNameOf(path));
    const claims = claimsIn(this.#places, hash);
    const nameOf = ({ ownerId }: Claim) =>
      ownerId === null ? null : (ownerNameOf(this.#documents, ownerId) ?? undefined);
    const before = this.#poolOwners.get(hash);
    const hadIt = (claim: Claim) =>
      before === undefined ? nameOf(claim) === counted : claim.ownerId === before;
    const claim = claims.length > 1 ? (claims.find(hadIt) ?? claims[0]) : claims[0];
    if (isPool(path)) this.#poolOwners.set(hash, claim?.ownerId ?? undefined);
    if (claim === undefined) return unknownPlace;
    const { title, isPublic, isInherited, isWiki } = claim;
    const leaf = isWiki ? 'size:assets:wiki' : leafFor(isPublic);
    const [beside = ''] = /\.(?:wiki|design)(?=\.git$)/.exec(path) ?? [];
    return { owner: nameOf(claim), leaf, title: `${title}${beside}`, isInherited };
  }
}

const unknownPlace: KnownPlace = {
  owner: null,
  leaf: 'size:repos:private',
  title: null,
  isInherited: false,
};

/** Tells whether another storage of a Gitaly Cluster counts the repository for its owner. */
function isCountedElsewhere({ owner, title }: KnownPlace): boolean {
  return owner === null && title !== null;
}

function leafFor(isPublic: boolean): Leaf {
  return isPublic ? 'size:repos:public' : 'size:repos:private';
}

/** The owner and the leaf that a unit counts for. */
export interface Attribution {
  readonly leaf: Leaf;
  readonly owner: string | null;
  /** Absent unless another host counts it for its owner. */
  readonly isBilledElsewhere?: boolean;
}

/** The attribution of a unit, as it was found last. */
export function attributionOf({ leaf, owner, isBilledElsewhere }: Attribution): Attribution {
  return { leaf, owner, ...(isBilledElsewhere === true ? { isBilledElsewhere } : {}) };
}

/**
 * Finds the owner and the leaf of a unit, from the forge's database where a walk cannot know them. `found`:
 * from the walk; `known`: from the ledger; `visibility`: null if no forge's database is read.
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
  const isElsewhere = placed === null ? known?.isBilledElsewhere : isCountedElsewhere(placed);
  return attributionOf({
    leaf,
    owner: owner === undefined ? (known?.owner ?? null) : owner,
    isBilledElsewhere: isElsewhere ?? false,
  });
}

/** Tells whether a path is that of a wiki or of designs, which lie beside their project's repository. */
export function isBeside(path: string): boolean {
  return /\.(?:wiki|design)\.git$/.test(path);
}

/**
 * Returns the name by which a forge's database knows a repository: `owner/name` in lower case for
 * `…/owner/name.git`; `@hashed/HASH` for GitLab's hashed directories, also for a wiki and designs beside the
 * project; the path from `@cluster/` on for a replica of a Gitaly Cluster.
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
