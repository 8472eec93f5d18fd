/** The settings of the forge reader (`[forge]`), its result, and what it and its thread tell each other. */

import { createHash } from 'node:crypto';
import type { Leaf } from '../quota/index.ts';
import type { ForgeFault } from './database.ts';
import type { LfsObject } from './lfs-objects.ts';
import type { PlaceColumns } from './places.ts';

export const forgeKinds = ['gitea', 'forgejo', 'gogs', 'gitlab'] as const;

export type ForgeKind = (typeof forgeKinds)[number];

/** The owner of projects in a subgroup of GitLab: the top-level group, or the subgroup itself. */
export type OwnerLevel = 'top' | 'namespace';

export interface ForgeSettings {
  readonly kind: ForgeKind;
  /** The forge's own configuration file, absolute; null if `database` says all. */
  readonly configFile: string | null;
  /** An address as `parseDatabaseAddress` reads it, which wins over `configFile`; null if not given. */
  readonly database: string | null;
  /** Only for GitLab. */
  readonly ownerLevel: OwnerLevel;
  /** Only for GitLab; null: this is no storage of a Gitaly Cluster. */
  readonly praefect: PraefectSettings | null;
}

/** The database of a Gitaly Cluster, and the name that this host's storage has there. */
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
  /** The forge shows the owner's page only to some; not, unless given. */
  readonly isHidden?: boolean;
}

/** The members of an organization, by the ids of users; each has one role. */
export interface ForgeMembers {
  readonly organization: number;
  readonly owners: readonly number[];
  readonly members: readonly number[];
}

/** The leaves whose bytes the database tells. */
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
  /** The table and the id: `lfs_meta_object 17`. */
  readonly row: string;
  readonly why: string;
  /** The name of its owner; null where nobody can tell. */
  readonly owner: string | null;
  /** Its file, or its repository; null where nobody can tell. */
  readonly path: string | null;
  /** Its last good figure goes on counting for the owner. */
  readonly isCounted: boolean;
}

export interface OddRows {
  readonly first: readonly OddRow[];
  readonly count: number;
  /** Rows that count for nobody, and the bytes of their files. */
  readonly unowned: number;
  readonly unownedBytes: number;
}

export interface ThreadSettings {
  readonly settings: ForgeSettings;
  /** For the hashes of repositories' names. */
  readonly seed: string;
}

/**
 * Kind of a reading: `new` reads what marks say has changed, `full` everything, and `anew` everything as if
 * it were the first time, so that all of it is reported again; `accepted` also where most of it is gone.
 */
export type ReadMode = 'new' | 'full' | 'anew' | 'accepted';

/** A column by which an owner is found: a name in lower case, or an id. */
export type OwnerKey = 'id' | 'lower_name';

/**
 * `more` asks for what comes after a chunk, so that the one who takes them is never given more than one at a
 * time. `lfs` asks for the LFS objects of the repository of this name, and `owner` for one owner, at other
 * times too. `known` has the present figures, for a thread that has read nothing yet: for each owner the
 * forge's id, then the bytes of `forgeLeaves`.
 */
export type Question =
  | { readonly ask: 'read'; readonly mode: ReadMode; readonly known: Float64Array }
  | { readonly ask: 'more' }
  | { readonly ask: 'lfs'; readonly name: string }
  | { readonly ask: 'owner'; readonly key: OwnerKey; readonly value: number | string };

export interface Request {
  readonly id: number;
  readonly question: Question;
}

export type Answer =
  | { readonly id: number; readonly found: Found }
  | { readonly id: number; readonly fault: Pick<ForgeFault, 'code' | 'mend' | 'message'> };

export type Found =
  /** Null: the reading has ended. */
  | { readonly chunk: Chunk | null }
  | { readonly objects: readonly LfsObject[] }
  /** Null: nobody has the name, or no path names owners. */
  | { readonly owner: ForgeOwner | null };

/** Some of a reading, in this order, without what has not changed since the last; no chunk if nothing has. */
export type Chunk =
  /** The owners who are new, or other than before. */
  | { readonly is: 'owners'; readonly owners: readonly ForgeOwner[] }
  | { readonly is: 'present'; readonly ids: Float64Array }
  | { readonly is: 'members'; readonly members: readonly ForgeMembers[] }
  | { readonly is: 'repositories'; readonly repositories: RepositoryNames }
  /** The bytes of nobody, and figures that changed although no mark said so, by a full reading. */
  | {
      readonly is: 'rest';
      readonly unowned: readonly Unowned[];
      readonly drift: readonly FigureDrift[];
      readonly odd: OddRows;
    }
  /** Lines of JSON, as sources report them; all of them together are the whole set. */
  | { readonly is: 'lines'; readonly bytes: Uint8Array };

export interface RepositoryNames {
  /** Hashes of the names of public repositories, ascending; none where `places` says it. */
  readonly publicHashes: Float64Array;
  /** The owners of repositories whose paths name none; null where paths name them. */
  readonly places: PlaceColumns | null;
  /** Names of repositories that have become public, private or another one's; null: too many to name. */
  readonly changed: readonly string[] | null;
}

export interface FigureDrift {
  readonly leaf: string;
  readonly owners: number;
  readonly bytes: number;
}

/**
 * Gives the name of a repository (`owner/name`, in lower case) as a number of 48 bits, so that a million
 * names are six million bytes. It is seeded, so that nobody can choose a name that stands for another one.
 */
export function repositoryHash(seed: string, name: string): number {
  return createHash('sha1').update(seed).update(name).digest().readUIntBE(0, 6);
}
