/** Settings of the forge reader (`[forge]`), its results, and the messages between it and its thread. */

import { createHash } from 'node:crypto';
import type { Leaf } from '../quota/index.ts';
import type { ForgeFault } from './database.ts';

/** An LFS object that only one repository has, according to the forge's rows. */
export interface LfsObject {
  /** SHA-256 of the content: 64 hexadecimal digits. */
  readonly oid: string;
  readonly bytes: number;
}

/** Limit of the listed objects of a repository: the largest ones. */
export const mostLfsObjects = 20_000;

export const forgeKinds = ['gitea', 'forgejo', 'gogs', 'gitlab'] as const;

export type ForgeKind = (typeof forgeKinds)[number];

export interface ForgeSettings {
  readonly kind: ForgeKind;
  /** Absolute path of the forge's own configuration file; null if `database` is enough. */
  readonly configFile: string | null;
  /** An address for `parseDatabaseAddress`, which takes precedence over `configFile`; null if absent. */
  readonly database: string | null;
  /** Only for GitLab: the owner of projects in a subgroup is the top-level group, or the subgroup itself. */
  readonly ownerLevel: 'top' | 'namespace';
  /**
   * Address of a Gitaly Cluster's database, and the name of this host's storage there. Only for GitLab; null
   * without a cluster.
   */
  readonly praefect: { readonly address: string; readonly storage: string } | null;
}

export interface ForgeOwner {
  /** The forge's own id, which a renamed owner keeps. */
  readonly id: number;
  readonly name: string;
  readonly type: 'user' | 'organization';
  readonly email: string;
  readonly isAdmin: boolean;
  /** True if the forge shows the owner's page only to some people. */
  readonly isHidden?: boolean;
}

/** Members of an organization as ids of users; each has one role. */
export interface ForgeMembers {
  readonly organization: number;
  readonly owners: readonly number[];
  readonly members: readonly number[];
}

/** Leaves whose bytes come from the database. */
export const forgeLeaves = [
  'size:git:lfs',
  'size:assets:attachments:issues',
  'size:assets:attachments:releases',
  'size:assets:artifacts',
  'size:assets:packages:all',
] as const satisfies readonly Leaf[];

export type ForgeLeaf = (typeof forgeLeaves)[number];

export const unitNames: Readonly<Record<ForgeLeaf, string>> = {
  'size:git:lfs': 'LFS objects',
  'size:assets:attachments:issues': 'attachments of issues',
  'size:assets:attachments:releases': 'files of releases',
  'size:assets:artifacts': 'artifacts of actions',
  'size:assets:packages:all': 'packages',
};

export const unownedReasons = {
  lfs_orphaned: 'LFS objects of repositories that no longer exist',
  attachments_orphaned: 'attachments of repositories that no longer exist, or of none',
  artifacts_orphaned: 'artifacts of repositories that no longer exist',
  packages_orphaned: 'blobs of packages that no file refers to',
  owner_missing: 'data of owners whom the database does not have',
  odd_rows: 'files of rows whose size cannot be believed',
} as const;

export type UnownedReason = keyof typeof unownedReasons;

export interface Unowned {
  readonly reason: UnownedReason;
  readonly count: number;
  readonly bytes: number;
}

/** A row that no forge writes. */
export interface OddRow {
  /** Table and id: `lfs_meta_object 17`. */
  readonly row: string;
  readonly why: string;
  /** Name of its owner; null if unknown. */
  readonly owner: string | null;
  /** Its file, or its repository; null if unknown. */
  readonly path: string | null;
  /** True if the last valid size still counts for the owner. */
  readonly isCounted: boolean;
}

export interface OddRows {
  readonly first: readonly OddRow[];
  readonly count: number;
  /** Number of rows that count for nobody; `unownedBytes` is the size of their files. */
  readonly unowned: number;
  readonly unownedBytes: number;
}

export interface ThreadSettings {
  readonly settings: ForgeSettings;
  /** Seed for the hashes of repository names. */
  readonly seed: string;
}

/**
 * Kind of a reading: `new` reads parts whose marks have changed; `full` reads everything; `anew` reads
 * everything as for the first time, and reports all of it again; `accepted` is like `anew` and accepts that
 * most data is missing.
 */
export type ReadMode = 'new' | 'full' | 'anew' | 'accepted';

/** A column for finding an owner: a name in lower case, or an id. */
export type OwnerKey = 'id' | 'lower_name';

/** Functions that the thread runs for the reader. */
export interface ThreadCalls {
  /**
   * Begins a reading, and returns the first chunk; null if there is none. `known` has the current figures for
   * a thread that has not read anything yet: for each owner the forge's id, then the bytes of `forgeLeaves`.
   */
  read(mode: ReadMode, known: Float64Array): Promise<Chunk | null>;
  /** Returns the next chunk, so that the reader gets one at a time; null at the end of the reading. */
  more(): Promise<Chunk | null>;
  /** Returns the LFS objects of a repository, at any time. */
  lfsObjects(name: string): Promise<readonly LfsObject[]>;
  /** Returns one owner, at any time; null if nobody has the name, or if paths do not contain owners. */
  ownerBy(key: OwnerKey, value: number | string): Promise<ForgeOwner | null>;
}

export interface Request<Name extends keyof ThreadCalls = keyof ThreadCalls> {
  readonly id: number;
  readonly name: Name;
  readonly args: Parameters<ThreadCalls[Name]>;
}

export type Answer =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly fault: Pick<ForgeFault, 'code' | 'mend' | 'message'> };

/**
 * A piece of a reading. Chunks come in this order and without unchanged data; if nothing has changed, none
 * comes.
 */
export type Chunk =
  /** Owners who are new or have changed. */
  | { readonly is: 'owners'; readonly owners: readonly ForgeOwner[] }
  | { readonly is: 'present'; readonly ids: Float64Array }
  | { readonly is: 'members'; readonly members: readonly ForgeMembers[] }
  | { readonly is: 'repositories'; readonly repositories: RepositoryNames }
  /** Unowned bytes, and in a full reading the figures that changed without a change of their marks. */
  | {
      readonly is: 'rest';
      readonly unowned: readonly Unowned[];
      readonly drift: readonly FigureDrift[];
      readonly odd: OddRows;
    }
  /** Lines of JSON as sources report them; all of them together are the complete set. */
  | { readonly is: 'lines'; readonly bytes: Uint8Array };

export interface RepositoryNames {
  /** Hashes of the names of public repositories, ascending; empty if `places` is used. */
  readonly publicHashes: Float64Array;
  /** Owners of repositories whose paths do not contain them; null if paths do. */
  readonly places: PlaceColumns | null;
  /** Names of repositories with another visibility or owner; null if there are too many. */
  readonly changed: readonly string[] | null;
}

export interface FigureDrift {
  readonly leaf: string;
  readonly owners: number;
  readonly bytes: number;
}

/**
 * Hashes the name of a repository (`owner/name`, in lower case) to 48 bits, so that a million names take
 * little memory. The seed prevents that somebody chooses a name with the same hash as another.
 */
export function repositoryHash(seed: string, name: string): number {
  return createHash('sha1').update(seed).update(name).digest().readUIntBE(0, 6);
}

/** A possible owner of a repository. */
export interface Claim {
  /** Null: it is a replica that another storage of a Gitaly Cluster counts for the owner. */
  readonly ownerId: number | null;
  readonly isPublic: boolean;
  /** Name for people, such as `group/project`. */
  readonly title: string;
  /** True if the original project is gone and this owner has a fork that still needs the pool. */
  readonly isInherited: boolean;
  /** True for a wiki whose path does not show it. */
  readonly isWiki: boolean;
}

/** Rows by hashes of repository names, ascending; a repository may have several. */
export interface PlaceColumns {
  readonly hashes: Float64Array;
  /** NaN where the `ownerId` of a claim is null. */
  readonly ownerIds: Float64Array;
  readonly flags: Uint8Array;
  /** All titles, joined. */
  readonly titles: string;
  /** End of each row's title in `titles`. */
  readonly titleEnds: Float64Array;
}

const publicFlag = 1;
const inheritedFlag = 2;
const wikiFlag = 4;

/** Orders rows by hash; the claims of one repository keep their order. */
export function placeColumns(hashes: readonly number[], claims: readonly Claim[]): PlaceColumns {
  const order = Uint32Array.from(hashes.keys()).sort((a, b) => (hashes[a] ?? 0) - (hashes[b] ?? 0) || a - b);
  const ordered = Array.from(order, at => claims[at]).filter(claim => claim !== undefined);
  let end = 0;
  return {
    hashes: Float64Array.from(order, at => hashes[at] ?? 0),
    ownerIds: Float64Array.from(ordered, ({ ownerId }) => ownerId ?? Number.NaN),
    flags: Uint8Array.from(
      ordered,
      ({ isPublic, isInherited, isWiki }) =>
        (isPublic ? publicFlag : 0) | (isInherited ? inheritedFlag : 0) | (isWiki ? wikiFlag : 0),
    ),
    titles: ordered.map(({ title }) => title).join(''),
    titleEnds: Float64Array.from(ordered, ({ title }) => {
      end += title.length;
      return end;
    }),
  };
}

/**
 * Returns the claims on a repository. The first one counts, unless another owner's usage includes it already.
 */
export function claimsIn(columns: PlaceColumns, hash: number): readonly Claim[] {
  const { hashes, ownerIds, flags, titles, titleEnds } = columns;
  const found: Claim[] = [];
  for (let row = firstRowOf(hashes, hash); hashes[row] === hash; row++) {
    const flag = flags[row] ?? 0;
    const ownerId = ownerIds[row] ?? Number.NaN;
    found.push({
      ownerId: Number.isNaN(ownerId) ? null : ownerId,
      isPublic: (flag & publicFlag) !== 0,
      title: titles.slice(titleEnds[row - 1] ?? 0, titleEnds[row]),
      isInherited: (flag & inheritedFlag) !== 0,
      isWiki: (flag & wikiFlag) !== 0,
    });
  }
  return found;
}

export function isAmong(sorted: Float64Array, wanted: number): boolean {
  return sorted[firstRowOf(sorted, wanted)] === wanted;
}

/** Returns the index of the first number in an ascending array that is not below the wanted one. */
export function firstRowOf(sorted: Float64Array, wanted: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
