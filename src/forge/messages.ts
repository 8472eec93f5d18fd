/** Settings of the forge reader (`[forge]`), its results, and the messages between it and its thread. */

import { createHash } from 'node:crypto';
import type { Leaf } from '../quota/index.ts';
import type { ForgeFault } from './database.ts';
import type { LfsObject } from './lfs-objects.ts';
import type { PlaceColumns } from './places.ts';

export const forgeKinds = ['gitea', 'forgejo', 'gogs', 'gitlab'] as const;

export type ForgeKind = (typeof forgeKinds)[number];

/** Owner of projects in a subgroup of GitLab: the top-level group, or the subgroup itself. */
export type OwnerLevel = 'top' | 'namespace';

export interface ForgeSettings {
  readonly kind: ForgeKind;
  /** Absolute path of the forge's own configuration file; null if `database` is enough. */
  readonly configFile: string | null;
  /** An address for `parseDatabaseAddress`, which takes precedence over `configFile`; null if absent. */
  readonly database: string | null;
  /** Only for GitLab. */
  readonly ownerLevel: OwnerLevel;
  /** Only for GitLab with a Gitaly Cluster; otherwise null. */
  readonly praefect: PraefectSettings | null;
}

/** Address of the Gitaly Cluster's database, and the name of this host's storage there. */
export interface PraefectSettings {
  readonly address: string;
  readonly storage: string;
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
