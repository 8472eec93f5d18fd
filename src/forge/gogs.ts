/** Reads owners, repositories and bytes from the database of Gogs. */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, systemCode } from '../errors.ts';
import { printable } from '../text.ts';
import {
  boundedColumns,
  eachRow,
  type ForgeDatabase,
  ForgeFault,
  flagAt,
  judgedRows,
  numberAt,
  type Row,
  textAt,
} from './database.ts';
import {
  addMember,
  type ForgeSchema,
  membersById,
  type NeededColumns,
  ObjectSums,
  PartSums,
  type RowOwners,
} from './forge-schema.ts';
import { giteaOwners, lfsObjectsOf } from './gitea.ts';
import { type ForgeMembers, repositoryHash } from './messages.ts';

/** The tables and columns that are read, as in Gogs 0.12 to 0.14; see docs/forges. */
const tables = {
  user: ['id', 'name', 'type', 'email', 'is_admin', 'lower_name'],
  repository: ['id', 'owner_id', 'lower_name', 'is_private'],
  org_user: ['id', 'uid', 'org_id', 'is_owner'],
  lfs_object: ['repo_id', 'oid', 'size'],
  attachment: ['id', 'uuid', 'issue_id', 'release_id'],
  issue: ['id', 'repo_id'],
  release: ['id', 'repo_id'],
} as const satisfies NeededColumns;

/**
 * Makes the schema of Gogs. `attachmentsPath` finds the directory of attachments each time they are counted;
 * `areHidden`: the forge hides the pages of all owners.
 */
export function gogsSchema(attachmentsPath: () => string, areHidden: () => boolean): ForgeSchema {
  return {
    ...giteaOwners(tables.user, areHidden),
    needed: tables,
    versionTable: 'version',
    accountTables: ['user', 'org_user'],
    repositoryTables: ['repository', 'user'],
    tellsOwners: false,
    byteParts: {
      lfs: { tables: ['lfs_object'], isByRepository: true, count: countLfs },
      attachments: {
        tables: ['attachment', 'issue', 'release'],
        isByRepository: true,
        count: (db, whose) => countAttachments(db, whose, attachmentsPath()),
      },
    },
    members: membersIn,
    eachRepository: (db, owners, take) =>
      eachRow(db, 'repository', tables.repository, (id, row) => {
        const ownerId = numberAt(row, 1);
        const owner = owners.get(ownerId)?.name ?? '';
        const name = `${owner}/${textAt(row, 2)}`.toLowerCase();
        take({ id, ownerId, name, isPublic: !flagAt(row, 3) });
      }),
    lfsObjects: (db, name) =>
      lfsObjectsOf(db, { table: 'lfs_object', repository: 'repo_id', key: 'oid' }, name),
  };
}

async function membersIn(db: ForgeDatabase): Promise<readonly ForgeMembers[]> {
  const owners = new Map<number, Set<number>>();
  const all = new Map<number, Set<number>>();
  await eachRow(db, 'org_user', tables.org_user, (_, row) => {
    const [user, organization] = [numberAt(row, 1), numberAt(row, 2)];
    addMember(all, organization, user);
    if (flagAt(row, 3)) addMember(owners, organization, user);
  });
  return membersById(owners, all);
}

async function countLfs(db: ForgeDatabase, whose: RowOwners): Promise<PartSums> {
  const objects = new ObjectSums<string>();
  await eachObject(db, whose, row => {
    const oid = textAt(row, 1);
    objects.add(oid, numberAt(row, 2));
    objects.addOwner(oid, whose.repositories.get(numberAt(row, 0)));
  });
  return objects.sums('size:git:lfs', whose, 'lfs_orphaned');
}

/** Reads LFS objects, whose rows have no id: pages follow the primary key, repository and object. */
async function eachObject(db: ForgeDatabase, whose: RowOwners, give: (row: Row) => void): Promise<void> {
  const [repository, oid] = ['repo_id', 'oid'].map(name => db.quoted(name));
  const columns = boundedColumns(db, tables.lfs_object);
  const select = `SELECT ${columns} FROM ${db.quoted('lfs_object')} WHERE`;
  const order = `ORDER BY ${repository}, ${oid} LIMIT`;
  const judged = judgedRows(db, 'lfs_object', tables.lfs_object, row => ({
    owner: whose.owners.get(whose.repositories.get(numberAt(row, 0)) ?? 0)?.name ?? null,
    path: null,
  }));
  let after = { repository: -1, oid: '' };
  const page = async (where: string, values: readonly (number | string)[]): Promise<boolean> => {
    const most = db.pageRows;
    const rows = await db.rows(`${select} ${where} ${order} ${most}`, values);
    for (const row of rows)
      judged.take(repositoryHash('', `${row[0]} ${row[1]}`), row, (_, each) => give(each));
    const last = rows.at(-1);
    if (last !== undefined) after = { repository: numberAt(last, 0), oid: textAt(last, 1) };
    return rows.length === most;
  };
  while (await page(`${repository} > ?`, [after.repository])) {
    while (await page(`${repository} = ? AND ${oid} > ?`, [after.repository, after.oid]));
  }
  judged.end();
}

const issues = 'size:assets:attachments:issues';
const releases = 'size:assets:attachments:releases';

/** A small page, because its files are inspected before the next statement. */
const attachmentRows = 1000;

/**
 * Counts attachments by their files, because the database has no sizes. The files never change and are never
 * empty.
 */
async function countAttachments(db: ForgeDatabase, whose: RowOwners, directory: string): Promise<PartSums> {
  const sums = new PartSums([issues, releases], whose);
  const [byIssue, byRelease] = [await repositoriesBy(db, 'issue'), await repositoriesBy(db, 'release')];
  let isThere = false;
  const take = (_: number, row: Row): void => {
    if (!isThere) refuseAbsent(directory);
    isThere = true;
    const [issueId, releaseId] = [numberAt(row, 2), numberAt(row, 3)];
    const repository = releaseId === 0 ? byIssue.get(issueId) : byRelease.get(releaseId);
    const bytes = sizeOf(directory, textAt(row, 1));
    const owner = repository === undefined ? undefined : whose.repositories.get(repository);
    // A file that is missing is no row: if most are, the disk is away, and the figures are held back.
    if (bytes > 0) sums.add(releaseId === 0 ? issues : releases, owner, bytes, 'attachments_orphaned');
  };
  await eachRow(db, 'attachment', tables.attachment, take, { mostRows: attachmentRows });
  return sums;
}

async function repositoriesBy(
  db: ForgeDatabase,
  table: 'issue' | 'release',
): Promise<ReadonlyMap<number, number>> {
  const repositories = new Map<number, number>();
  await eachRow(db, table, tables[table], (id, row) => repositories.set(id, numberAt(row, 1)));
  return repositories;
}

/** Throws if the directory is missing: an unmounted disk must not look like deleted attachments. */
function refuseAbsent(directory: string): void {
  try {
    statSync(directory);
  } catch (error) {
    throw unreadable(directory, error);
  }
}

function sizeOf(directory: string, uuid: string): number {
  if (!/^[\w-]{2,64}$/.test(uuid)) return 0;
  const path = join(directory, uuid.charAt(0), uuid.charAt(1), uuid);
  try {
    const about = statSync(path);
    return about.isFile() ? about.size : 0;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 0;
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): ForgeFault {
  const shown = printable(path);
  const code = systemCode(error);
  const isClosed = code === 'EACCES' || code === 'EPERM';
  return new ForgeFault(
    isClosed ? 'rights' : 'unreachable',
    `the size of an attachment cannot be read, ${shown}: ${messageOf(error)}`,
    isClosed
      ? `let the daemon's user search the directories of ${shown}`
      : 'mount it, or correct [attachment] PATH in the app.ini of Gogs; it is tried again by itself',
    { cause: error },
  );
}
