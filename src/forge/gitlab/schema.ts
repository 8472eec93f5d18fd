/** GitLab: owners are namespaces, and no path says whose a repository is. */

import type { ForgeDatabase } from '../database.ts';
import type { ForgeSchema } from '../forge-schema.ts';
import type { OwnerLevel } from '../messages.ts';
import { eachRow, numberAt, textAt } from '../pages.ts';
import { PartSums, type RowOwners, readObjects } from '../sums.ts';
import { artifactTables, eachGitlabOwner, gitlabMembers, gitlabTables, Namespaces } from './namespaces.ts';
import { eachGitlabRepository, projectLfsObjects } from './repositories.ts';

export function gitlabSchema(level: OwnerLevel): ForgeSchema {
  const namespaces = new Namespaces(level);
  let snippets = new Map<number, number>();
  return {
    needed: gitlabTables,
    versionTable: 'schema_migrations',
    accountTables: ['namespaces', 'users', 'members'],
    // A group that moves takes its projects along.
    repositoryTables: ['projects', 'namespaces', 'snippets', 'pool_repositories'],
    tellsOwners: true,
    byteParts: {
      lfs: {
        tables: ['lfs_objects', 'lfs_objects_projects'],
        isByRepository: true,
        count: countGitlabLfs,
      },
      uploads: {
        tables: ['uploads', 'namespaces', 'snippets'],
        isByRepository: true,
        count: (db, whose) => countUploads(db, whose, namespaces, snippets),
      },
      artifacts: {
        tables: [...artifactTables, 'ci_pipeline_artifacts'],
        isByRepository: true,
        count: countGitlabArtifacts,
      },
      packages: {
        tables: ['packages_packages', 'packages_package_files'],
        isByRepository: true,
        count: countGitlabPackages,
      },
    },
    eachOwner: (db, take) => eachGitlabOwner(db, namespaces, take),
    members: db => gitlabMembers(db, namespaces),
    eachRepository: (db, _owners, take) => {
      snippets = new Map<number, number>();
      return eachGitlabRepository(db, namespaces, snippets, take);
    },
    lfsObjects: projectLfsObjects,
  };
}

async function countGitlabLfs(db: ForgeDatabase, whose: RowOwners): Promise<PartSums> {
  const objects = await readObjects(db, 'lfs_objects', gitlabTables.lfs_objects);
  await eachRow(db, 'lfs_objects_projects', gitlabTables.lfs_objects_projects, (_, row) =>
    objects.addOwner(numberAt(row, 1), whose.repositories.get(numberAt(row, 2))),
  );
  return objects.sums('size:git:lfs', whose, 'lfs_orphaned');
}

/** An uploaded file belongs to a project, a group, a user or a snippet. `snippets`: owners by their ids. */
async function countUploads(
  db: ForgeDatabase,
  whose: RowOwners,
  namespaces: Namespaces,
  snippets: ReadonlyMap<number, number>,
): Promise<PartSums> {
  const leaf = 'size:assets:attachments:issues';
  const sums = new PartSums([leaf], whose);
  const ownerOf = (type: string, id: number): number | undefined => {
    switch (type) {
      case 'Project':
        return whose.repositories.get(id);
      case 'Namespace':
        return namespaces.ownerIdOf(id);
      case 'User':
        return namespaces.ownerIdOfUser(id);
      case 'Snippet':
        return snippets.get(id);
      default:
        return undefined;
    }
  };
  await eachRow(db, 'uploads', gitlabTables.uploads, (_, row) => {
    const owner = ownerOf(textAt(row, 2), numberAt(row, 3));
    sums.add(leaf, owner, numberAt(row, 1), 'attachments_orphaned');
  });
  return sums;
}

/** Rows of artifacts go when their files do. */
async function countGitlabArtifacts(db: ForgeDatabase, whose: RowOwners): Promise<PartSums> {
  const leaf = 'size:assets:artifacts';
  const sums = new PartSums([leaf], whose);
  const present = await db.columns(artifactTables);
  const jobs = artifactTables.find(table => present.has(table)) ?? artifactTables[0];
  for (const table of [jobs, 'ci_pipeline_artifacts']) {
    await eachRow(db, table, gitlabTables.ci_pipeline_artifacts, (_, row) => {
      sums.add(leaf, whose.repositories.get(numberAt(row, 1)), numberAt(row, 2), 'artifacts_orphaned');
    });
  }
  return sums;
}

/** Each file of a package lies on the disk on its own, also if another one has the same content. */
async function countGitlabPackages(db: ForgeDatabase, whose: RowOwners): Promise<PartSums> {
  const leaf = 'size:assets:packages:all';
  const sums = new PartSums([leaf], whose);
  const projects = new Map<number, number>();
  await eachRow(db, 'packages_packages', gitlabTables.packages_packages, (id, row) =>
    projects.set(id, numberAt(row, 1)),
  );
  await eachRow(db, 'packages_package_files', gitlabTables.packages_package_files, (_, row) => {
    const project = projects.get(numberAt(row, 1));
    const owner = project === undefined ? undefined : whose.repositories.get(project);
    sums.add(leaf, owner, numberAt(row, 2), 'packages_orphaned');
  });
  return sums;
}
