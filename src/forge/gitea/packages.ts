/** Counts the packages of Gitea's and Forgejo's owners: each blob once for each owner. */

import { BlobSums, missingOwner } from '../blob-sums.ts';
import type { ForgeDatabase } from '../database.ts';
import type { RowOwners } from '../forge-schema.ts';
import { IdTable } from '../id-table.ts';
import { eachRow, numberAt } from '../pages.ts';
import type { PartSums } from '../sums.ts';
import { giteaTables } from './tables.ts';

export async function countPackages(db: ForgeDatabase, whose: RowOwners): Promise<PartSums> {
  const owners = await ownersByVersion(db, whose);
  const sizes = new IdTable();
  await eachRow(db, { table: 'package_blob', columns: giteaTables.package_blob.slice(1) }, (id, row) => {
    sizes.add(id, numberAt(row, 1));
  });
  const blobs = new BlobSums({
    leaf: 'size:assets:packages:all',
    owners: whose.owners.size,
    sizes,
    orphaned: 'packages_orphaned',
  });
  await eachRow(db, { table: 'package_file', columns: giteaTables.package_file.slice(1) }, (_, row) => {
    const owner = owners.get(numberAt(row, 1));
    if (owner !== undefined) blobs.add(numberAt(row, 2), owner);
  });
  return blobs.sums();
}

/** Rows of owners by the ids of versions. */
async function ownersByVersion(db: ForgeDatabase, { owners }: RowOwners): Promise<IdTable> {
  const byPackage = new IdTable();
  await eachRow(db, { table: 'package', columns: giteaTables.package.slice(1) }, (id, row) => {
    const owner = owners.rowOf(numberAt(row, 1));
    byPackage.add(id, owner === -1 ? missingOwner : owner);
  });
  const byVersion = new IdTable();
  const columns = giteaTables.package_version.slice(1);
  await eachRow(db, { table: 'package_version', columns }, (id, row) => {
    const owner = byPackage.get(numberAt(row, 1));
    if (owner !== undefined) byVersion.add(id, owner);
  });
  return byVersion;
}
