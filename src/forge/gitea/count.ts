/**
 * Counts the bytes of Gitea's and Forgejo's owners.
 *
 * Each table is read from its beginning to its end, by ids and without joins; rows are put together here. A
 * database needs many times as long for the same with joins over everything.
 */

import type { ForgeDatabase } from '../database.ts';
import { ownerOfRepository, type RowOwners } from '../forge-schema.ts';
import { LfsSums } from '../lfs-sums.ts';
import { eachRow, numberAt, textAt } from '../pages.ts';
import { PartSums } from '../sums.ts';
import { giteaTables } from './tables.ts';

export async function countLfs(db: ForgeDatabase, whose: RowOwners): Promise<PartSums> {
  const lfs = new LfsSums(whose);
  const columns = giteaTables.lfs_meta_object.slice(1);
  await eachRow(db, { table: 'lfs_meta_object', columns }, (_, row) =>
    lfs.add(textAt(row, 1), numberAt(row, 2), numberAt(row, 3)),
  );
  return lfs.sums();
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

export async function countArtifacts(db: ForgeDatabase, whose: RowOwners): Promise<PartSums> {
  const sums = new PartSums(['size:assets:artifacts'], whose.owners.size);
  const columns = giteaTables.action_artifact.slice(1);
  await eachRow(db, { table: 'action_artifact', columns }, (_, row) => {
    if (!storedArtifacts.includes(numberAt(row, 3))) return;
    const size = numberAt(row, 2);
    const owner = ownerOfRepository(whose, numberAt(row, 1));
    if (typeof owner === 'number') sums.add('size:assets:artifacts', owner, size);
    else sums.addUnowned(owner === 'no owner' ? 'owner_missing' : 'artifacts_orphaned', size);
  });
  return sums;
}
