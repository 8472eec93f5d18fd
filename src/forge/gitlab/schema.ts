/** GitLab: owners are namespaces, and no path says whose a repository is. */

import type { ForgeSchema } from '../forge-schema.ts';
import { IdTable } from '../id-table.ts';
import type { OwnerLevel } from '../settings.ts';
import { eachGitlabOwner, gitlabMembers } from './accounts.ts';
import { countGitlabArtifacts, countGitlabLfs, countGitlabPackages, countUploads } from './count.ts';
import { projectLfsObjects } from './lfs.ts';
import { Namespaces } from './namespaces.ts';
import { eachRepository } from './repositories.ts';
import { artifactTables, gitlabTables } from './tables.ts';

export function gitlabSchema(level: OwnerLevel): ForgeSchema {
  const namespaces = new Namespaces(level);
  let snippets = new IdTable();
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
      snippets = new IdTable();
      return eachRepository(db, namespaces, snippets, take);
    },
    lfsObjects: projectLfsObjects,
  };
}
