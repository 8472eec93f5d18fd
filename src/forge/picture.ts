/** Result of reading a forge's database. */

import type { Leaf } from '../quota/index.ts';

/** A user or organization as the forge has it. */
export interface ForgeOwner {
  /** The forge's own id, which a renamed owner keeps. */
  readonly id: number;
  /** Name as the forge spells it. */
  readonly name: string;
  readonly type: 'user' | 'organization';
  readonly email: string;
  readonly isAdmin: boolean;
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

/** The names of the units that are reported, one for each owner and leaf. */
export const unitNames: Readonly<Record<ForgeLeaf, string>> = {
  'size:git:lfs': 'LFS objects',
  'size:assets:attachments:issues': 'attachments of issues',
  'size:assets:attachments:releases': 'files of releases',
  'size:assets:artifacts': 'artifacts of actions',
  'size:assets:packages:all': 'packages',
};

/** Reasons why stored bytes are nobody's. */
export const unownedReasons = {
  lfs_orphaned: 'LFS objects of repositories that no longer exist',
  attachments_orphaned: 'attachments of repositories that no longer exist, or of none',
  artifacts_orphaned: 'artifacts of repositories that no longer exist',
  packages_orphaned: 'blobs of packages that no file refers to',
  owner_missing: 'data of owners whom the database does not have',
} as const;

export type UnownedReason = keyof typeof unownedReasons;

/** Bytes that belong to nobody, as far as the database tells. */
export interface Unowned {
  readonly reason: UnownedReason;
  readonly count: number;
  readonly bytes: number;
}
