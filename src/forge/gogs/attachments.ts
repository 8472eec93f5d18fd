/**
 * Counts the attachments of Gogs, whose database has their names and not their sizes.
 *
 * A file is where the name says, and is never written again. A row without a file counts nothing.
 */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, systemCode } from '../../errors.ts';
import { printable } from '../../text/index.ts';
import type { ForgeDatabase } from '../database.ts';
import { ForgeFault } from '../fault.ts';
import { ownerOfRepository, type RowOwners } from '../forge-schema.ts';
import { IdTable } from '../id-table.ts';
import { eachRow, numberAt, textAt } from '../pages.ts';
import { PartSums } from '../sums.ts';
import { gogsTables } from './tables.ts';

const issues = 'size:assets:attachments:issues';
const releases = 'size:assets:attachments:releases';

/** Few, since the files of a page are looked at between two statements. */
const pageRows = 1000;

/** `directory`: where the files are. */
export async function countGogsAttachments(
  db: ForgeDatabase,
  whose: RowOwners,
  directory: string,
): Promise<PartSums> {
  const sums = new PartSums([issues, releases], whose.owners.size);
  const [byIssue, byRelease] = [await repositoriesBy(db, 'issue'), await repositoriesBy(db, 'release')];
  let isThere = false;
  const columns = gogsTables.attachment.slice(1);
  await eachRow(db, { table: 'attachment', columns, mostRows: pageRows }, (_, row) => {
    if (!isThere) refuseAbsent(directory);
    isThere = true;
    const [issueId, releaseId] = [numberAt(row, 2), numberAt(row, 3)];
    const repository = releaseId === 0 ? byIssue.get(issueId) : byRelease.get(releaseId);
    const bytes = sizeOf(directory, textAt(row, 1));
    const owner = repository === undefined ? 'no repository' : ownerOfRepository(whose, repository);
    if (typeof owner === 'number') sums.add(releaseId === 0 ? issues : releases, owner, bytes);
    else sums.addUnowned(owner === 'no owner' ? 'owner_missing' : 'attachments_orphaned', bytes);
  });
  return sums;
}

async function repositoriesBy(db: ForgeDatabase, table: 'issue' | 'release'): Promise<IdTable> {
  const repositories = new IdTable();
  await eachRow(db, { table, columns: gogsTables[table].slice(1) }, (id, row) =>
    repositories.add(id, numberAt(row, 1)),
  );
  return repositories;
}

/** A directory that is not mounted is no word on what is in it. */
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
