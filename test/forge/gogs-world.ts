/** A Gogs with made rows and files, and what each owner has there by the count of the one who made it. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashOf } from './gitlab-world.ts';
import type { Rows, Tables } from './made.ts';

/** Tables as the models of Gogs 0.14 have them, as far as they say something of owners and bytes. */
export const gogsTables: Tables = {
  user: { id: 'key', name: 'text', lower_name: 'text', email: 'text', type: 'number', is_admin: 'flag' },
  repository: { id: 'key', owner_id: 'number', lower_name: 'text', is_private: 'flag' },
  org_user: { id: 'key', uid: 'number', org_id: 'number', is_owner: 'flag' },
  lfs_object: { repo_id: 'number', oid: 'text', size: 'number' },
  attachment: { id: 'key', uuid: 'text', issue_id: 'number', release_id: 'number' },
  issue: { id: 'key', repo_id: 'number' },
  release: { id: 'key', repo_id: 'number' },
};

interface LfsRow {
  readonly repo_id: number;
  readonly object: string;
  readonly size: number;
}

/**
 * More than a page of one repository; an object that two of an owner's have; one of two owners; and orphans.
 */
const lfs: readonly LfsRow[] = [
  ...Array.from({ length: 2500 }, (_, at) => ({ repo_id: 3, object: `site ${at}`, size: 10 + at })),
  { repo_id: 1, object: 'twice', size: 1000 },
  { repo_id: 2, object: 'twice', size: 1000 },
  { repo_id: 1, object: 'shared', size: 20_000 },
  { repo_id: 4, object: 'shared', size: 20_000 },
  { repo_id: 8, object: 'without an owner', size: 3000 },
  { repo_id: 55, object: 'of no repository', size: 400 },
  { repo_id: 55, object: 'shared', size: 20_000 },
];

/** `bytes`: null for a row whose file is gone. */
const attachments = [
  { name: 'a picture', issue: 1, release: 0, bytes: 111 },
  { name: 'one in a comment', issue: 2, release: 0, bytes: 222 },
  { name: 'a binary', issue: 0, release: 1, bytes: 3333 },
  { name: 'another binary', issue: 0, release: 2, bytes: 44_444 },
  { name: 'gone', issue: 1, release: 0, bytes: null },
  { name: 'never submitted', issue: 0, release: 0, bytes: 55 },
];

export const gogsRows: Rows = {
  user: [
    { id: 1, name: 'Alice', type: 0, is_admin: false },
    { id: 2, name: 'bob', type: 0, is_admin: true },
    { id: 3, name: 'Acme', type: 1, is_admin: false },
    { id: 7, name: 'carl', type: 0, is_admin: false },
  ].map(row => ({ ...row, lower_name: row.name.toLowerCase(), email: `${row.name}@git.example` })),
  repository: [
    { id: 1, owner_id: 1, lower_name: 'app', is_private: false },
    { id: 2, owner_id: 1, lower_name: 'secret', is_private: true },
    { id: 3, owner_id: 3, lower_name: 'site', is_private: false },
    { id: 4, owner_id: 2, lower_name: 'app', is_private: false },
    { id: 8, owner_id: 99, lower_name: 'left', is_private: true },
  ],
  org_user: [
    { id: 1, uid: 1, org_id: 3, is_owner: true },
    { id: 2, uid: 7, org_id: 3, is_owner: false },
  ],
  lfs_object: lfs.map(({ object, ...row }) => ({ ...row, oid: hashOf(object) })),
  attachment: attachments.map(({ name, issue, release }, at) => ({
    id: at + 1,
    uuid: uuidOf(name),
    issue_id: issue,
    release_id: release,
  })),
  issue: [
    { id: 1, repo_id: 1 },
    { id: 2, repo_id: 3 },
  ],
  release: [
    { id: 1, repo_id: 3 },
    { id: 2, repo_id: 4 },
  ],
};

function uuidOf(name: string): string {
  return hashOf(name).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}

/** Writes the files of attachments below this directory. */
export function writeAttachments(directory: string): void {
  mkdirSync(directory, { recursive: true });
  for (const { name, bytes } of attachments) {
    const uuid = uuidOf(name);
    const folder = join(directory, uuid.charAt(0), uuid.charAt(1));
    mkdirSync(folder, { recursive: true });
    if (bytes !== null) writeFileSync(join(folder, uuid), Buffer.alloc(bytes));
  }
}

/** Counted from the lists above, by owner and leaf. */
export const gogsExpected: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  Alice: { 'size:git:lfs': 1000 + 20_000, 'size:assets:attachments:issues': 111 },
  bob: { 'size:git:lfs': 20_000, 'size:assets:attachments:releases': 44_444 },
  Acme: {
    'size:git:lfs': 2500 * 10 + (2499 * 2500) / 2,
    'size:assets:attachments:issues': 222,
    'size:assets:attachments:releases': 3333,
  },
  carl: {},
};

export const gogsUnowned = [
  { reason: 'lfs_orphaned', count: 1, bytes: 400 },
  { reason: 'attachments_orphaned', count: 1, bytes: 55 },
  { reason: 'owner_missing', count: 1, bytes: 3000 },
];
