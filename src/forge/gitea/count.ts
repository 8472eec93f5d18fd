/**
 * Counts the bytes of Gitea's and Forgejo's owners.
 *
 * Each table is read from its beginning to its end, by ids and without joins; rows are put together here. A
 * database needs many times as long for the same with joins over everything.
 */

import { createHash } from 'node:crypto';
import type { ForgeDatabase } from '../database.ts';
import type { IdTable } from '../id-table.ts';
import { ObjectTable } from '../object-table.ts';
import { eachRow, numberAt, textAt } from '../pages.ts';
import type { CountRule } from '../settings.ts';
import { PartSums } from '../sums.ts';
import { giteaTables } from './tables.ts';

/** The tables that say whose a row is. */
export interface RowOwners {
  /** Rows of owners by their ids. */
  readonly owners: IdTable;
  /** Ids of owners by the ids of repositories. */
  readonly repositories: IdTable;
}

/** An owner's row, or why there is none. */
type OwnerRow = number | 'no repository' | 'no owner';

function ownerOfRepository({ owners, repositories }: RowOwners, repositoryId: number): OwnerRow {
  const ownerId = repositories.get(repositoryId);
  if (ownerId === undefined) return 'no repository';
  const row = owners.rowOf(ownerId);
  return row === -1 ? 'no owner' : row;
}

/** Whoever reads an object of nobody has to know whether somebody else has it. */
const nobody = -1;

export async function countLfs(db: ForgeDatabase, whose: RowOwners, rule: CountRule): Promise<PartSums> {
  const sums = new PartSums(['size:git:lfs'], whose.owners.size);
  const objects = new ObjectTable();
  const orphans: {
    readonly digits: string;
    readonly size: number;
    readonly reason: 'lfs_orphaned' | 'owner_missing';
  }[] = [];
  const columns = giteaTables.lfs_meta_object.slice(1);
  await eachRow(db, { table: 'lfs_meta_object', columns }, (_, row) => {
    const digits = digitsOf(textAt(row, 1));
    const size = numberAt(row, 2);
    const owner = ownerOfRepository(whose, numberAt(row, 3));
    if (typeof owner !== 'number') {
      orphans.push({ digits, size, reason: owner === 'no owner' ? 'owner_missing' : 'lfs_orphaned' });
      return;
    }
    const found = objects.add(digits, owner);
    if (found !== 'known' || rule === 'as-forgejo') sums.add('size:git:lfs', owner, size);
    if (found === 'shared') sums.sharedBytes += size;
  });
  for (const { digits, size, reason } of orphans) {
    if (objects.add(digits, nobody) === 'new') sums.addUnowned(reason, size);
  }
  return sums;
}

/** An object's name is its SHA-256; whatever else stands there gets one. */
function digitsOf(oid: string): string {
  return /^[0-9a-f]{64}$/.test(oid)
    ? oid.slice(0, 32)
    : createHash('sha256').update(oid).digest('hex').slice(0, 32);
}

export async function countAttachments(db: ForgeDatabase, whose: RowOwners): Promise<PartSums> {
  const sums = new PartSums(
    ['size:assets:attachments:issues', 'size:assets:attachments:releases'],
    whose.owners.size,
  );
  const columns = giteaTables.attachment.slice(1);
  await eachRow(db, { table: 'attachment', columns }, (_, row) => {
    const size = numberAt(row, 3);
    const owner = ownerOfRepository(whose, numberAt(row, 1));
    if (typeof owner !== 'number') {
      sums.addUnowned(owner === 'no owner' ? 'owner_missing' : 'attachments_orphaned', size);
      return;
    }
    const isOfRelease = numberAt(row, 2) !== 0;
    sums.add(
      isOfRelease ? 'size:assets:attachments:releases' : 'size:assets:attachments:issues',
      owner,
      size,
    );
  });
  return sums;
}

/** The values of `action_artifact.status` whose files are there: stored, and waiting for deletion. */
const storedArtifacts = [2, 5];
/** The file has been removed. */
const expiredArtifact = 4;

export async function countArtifacts(
  db: ForgeDatabase,
  whose: RowOwners,
  rule: CountRule,
): Promise<PartSums> {
  const sums = new PartSums(['size:assets:artifacts'], whose.owners.size);
  const columns = giteaTables.action_artifact.slice(1);
  await eachRow(db, { table: 'action_artifact', columns }, (_, row) => {
    const status = numberAt(row, 3);
    const counts = rule === 'once' ? storedArtifacts.includes(status) : status !== expiredArtifact;
    if (!counts) return;
    const size = numberAt(row, 2);
    const owner = ownerOfRepository(whose, numberAt(row, 1));
    if (typeof owner === 'number') sums.add('size:assets:artifacts', owner, size);
    else sums.addUnowned(owner === 'no owner' ? 'owner_missing' : 'artifacts_orphaned', size);
  });
  return sums;
}
