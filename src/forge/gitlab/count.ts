/** Counts the bytes of GitLab's owners that are not in repositories. */

import { BlobSums, missingOwner } from '../blob-sums.ts';
import type { ForgeDatabase } from '../database.ts';
import { ownerOfRepository, type RowOwner, type RowOwners } from '../forge-schema.ts';
import { IdTable } from '../id-table.ts';
import { eachRow, numberAt, textAt } from '../pages.ts';
import type { ForgeLeaf, UnownedReason } from '../picture.ts';
import { PartSums } from '../sums.ts';
import type { Namespaces } from './namespaces.ts';
import { artifactTables, gitlabTables } from './tables.ts';

export async function countGitlabLfs(db: ForgeDatabase, whose: RowOwners): Promise<PartSums> {
  const sizes = new IdTable();
  await eachRow(db, { table: 'lfs_objects', columns: gitlabTables.lfs_objects.slice(1) }, (id, row) =>
    sizes.add(id, numberAt(row, 1)),
  );
  const blobs = new BlobSums({
    leaf: 'size:git:lfs',
    owners: whose.owners.size,
    sizes,
    orphaned: 'lfs_orphaned',
  });
  const columns = gitlabTables.lfs_objects_projects.slice(1);
  await eachRow(db, { table: 'lfs_objects_projects', columns }, (_, row) => {
    const owner = ownerOfRepository(whose, numberAt(row, 2));
    if (owner !== 'no repository') {
      blobs.add(numberAt(row, 1), owner === 'no owner' ? missingOwner : owner);
    }
  });
  return blobs.sums();
}

/** Adds a row's bytes to its owner, or to nobody. */
function addTo(
  sums: PartSums,
  leaf: ForgeLeaf,
  owner: RowOwner,
  bytes: number,
  orphaned: UnownedReason,
): void {
  if (typeof owner === 'number') sums.add(leaf, owner, bytes);
  else sums.addUnowned(owner === 'no owner' ? 'owner_missing' : orphaned, bytes);
}

/** An uploaded file belongs to a project, a group, a user or a snippet. `snippets`: owners by their ids. */
export async function countUploads(
  db: ForgeDatabase,
  whose: RowOwners,
  namespaces: Namespaces,
  snippets: IdTable,
): Promise<PartSums> {
  const leaf = 'size:assets:attachments:issues';
  const sums = new PartSums([leaf], whose.owners.size);
  const rowOfOwner = (ownerId: number | undefined): RowOwner => {
    if (ownerId === undefined) return 'no repository';
    const row = whose.owners.rowOf(ownerId);
    return row === -1 ? 'no owner' : row;
  };
  const ownerOf = (type: string, id: number): RowOwner => {
    switch (type) {
      case 'Project':
        return ownerOfRepository(whose, id);
      case 'Namespace':
        return rowOfOwner(namespaces.ownerIdOf(id));
      case 'User':
        return rowOfOwner(namespaces.ownerIdOfUser(id));
      case 'Snippet':
        return rowOfOwner(snippets.get(id));
      default:
        return 'no repository';
    }
  };
  await eachRow(db, { table: 'uploads', columns: gitlabTables.uploads.slice(1) }, (_, row) => {
    const owner = ownerOf(textAt(row, 2), numberAt(row, 3));
    addTo(sums, leaf, owner, numberAt(row, 1), 'attachments_orphaned');
  });
  return sums;
}

/** Rows of artifacts go when their files do. */
export async function countGitlabArtifacts(db: ForgeDatabase, whose: RowOwners): Promise<PartSums> {
  const leaf = 'size:assets:artifacts';
  const sums = new PartSums([leaf], whose.owners.size);
  const present = await db.columns(artifactTables);
  const jobs = artifactTables.find(table => present.has(table)) ?? artifactTables[0];
  for (const table of [jobs, 'ci_pipeline_artifacts']) {
    await eachRow(db, { table, columns: gitlabTables.ci_pipeline_artifacts.slice(1) }, (_, row) => {
      addTo(sums, leaf, ownerOfRepository(whose, numberAt(row, 1)), numberAt(row, 2), 'artifacts_orphaned');
    });
  }
  return sums;
}

/** Each file of a package lies on the disk on its own, also if another one has the same content. */
export async function countGitlabPackages(db: ForgeDatabase, whose: RowOwners): Promise<PartSums> {
  const leaf = 'size:assets:packages:all';
  const sums = new PartSums([leaf], whose.owners.size);
  const projects = new IdTable();
  const packageColumns = gitlabTables.packages_packages.slice(1);
  await eachRow(db, { table: 'packages_packages', columns: packageColumns }, (id, row) =>
    projects.add(id, numberAt(row, 1)),
  );
  const columns = gitlabTables.packages_package_files.slice(1);
  await eachRow(db, { table: 'packages_package_files', columns }, (_, row) => {
    const project = projects.get(numberAt(row, 1));
    const owner = project === undefined ? 'no repository' : ownerOfRepository(whose, project);
    addTo(sums, leaf, owner, numberAt(row, 2), 'packages_orphaned');
  });
  return sums;
}
