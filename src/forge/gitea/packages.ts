/** Counts the packages of Gitea's and Forgejo's owners: each blob once for each owner. */

import type { ForgeDatabase } from '../database.ts';
import type { RowOwners } from '../forge-schema.ts';
import { IdTable } from '../id-table.ts';
import { eachRow, numberAt } from '../pages.ts';
import type { CountRule } from '../settings.ts';
import { PartSums } from '../sums.ts';
import { giteaTables } from './tables.ts';

const leaf = 'size:assets:packages:all';
/** Rows of owners begin at 0. */
const unseen = -1;
const missingOwner = -2;

export async function countPackages(db: ForgeDatabase, whose: RowOwners, rule: CountRule): Promise<PartSums> {
  const sums = new PartSums([leaf], whose.owners.size);
  const owners = await ownersByVersion(db, whose, rule);
  const sizes = new IdTable();
  await eachRow(db, { table: 'package_blob', columns: giteaTables.package_blob.slice(1) }, (id, row) => {
    sizes.add(id, numberAt(row, 1));
  });
  /** By the blob's row: the first owner who has it. Few blobs have others, too. */
  const firstOwners = new Int32Array(sizes.size).fill(unseen);
  const furtherOwners = new Map<number, number[]>();
  await eachRow(db, { table: 'package_file', columns: giteaTables.package_file.slice(1) }, (_, row) => {
    const owner = owners.get(numberAt(row, 1));
    const blob = sizes.rowOf(numberAt(row, 2));
    if (owner === undefined || blob === -1) return;
    const size = sizes.valueAt(blob);
    const first = firstOwners[blob];
    if (first === unseen || (first === missingOwner && owner !== missingOwner)) {
      firstOwners[blob] = owner;
      if (owner !== missingOwner) sums.add(leaf, owner, size);
      return;
    }
    if (owner === missingOwner) return;
    const isFurther = first !== owner && !(furtherOwners.get(blob)?.includes(owner) ?? false);
    if (isFurther) {
      furtherOwners.set(blob, [...(furtherOwners.get(blob) ?? []), owner]);
      sums.sharedBytes += size;
    }
    if (isFurther || rule === 'as-forgejo') sums.add(leaf, owner, size);
  });
  for (let blob = 0; blob < sizes.size; blob++) {
    const owner = firstOwners[blob];
    if (owner === unseen) sums.addUnowned('packages_orphaned', sizes.valueAt(blob));
    else if (owner === missingOwner) sums.addUnowned('owner_missing', sizes.valueAt(blob));
  }
  return sums;
}

/** Rows of owners by the ids of versions. Forgejo counts a package for the owner of the repository that it is linked to. */
async function ownersByVersion(
  db: ForgeDatabase,
  { owners, repositories }: RowOwners,
  rule: CountRule,
): Promise<IdTable> {
  const byPackage = new IdTable();
  await eachRow(db, { table: 'package', columns: giteaTables.package.slice(1) }, (id, row) => {
    const linked = rule === 'as-forgejo' ? repositories.get(numberAt(row, 2)) : undefined;
    const owner = owners.rowOf(linked ?? numberAt(row, 1));
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
