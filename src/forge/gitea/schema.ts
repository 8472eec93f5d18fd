/** Gitea and Forgejo, which have the same tables. */

import type { ForgeSchema } from '../forge-schema.ts';
import { lfsObjectsOf, repositoryIdOf } from '../lfs-objects.ts';
import { eachRow, flagAt, numberAt, textAt } from '../pages.ts';
import { eachOwner, membersIn } from './accounts.ts';
import { countArtifacts, countAttachments, countLfs } from './count.ts';
import { countPackages } from './packages.ts';
import { giteaTables } from './tables.ts';

export function giteaSchema(): ForgeSchema {
  return {
    needed: giteaTables,
    versionTable: 'version',
    accountTables: ['user', 'org_user', 'team', 'team_user'],
    repositoryTables: ['repository'],
    tellsOwners: false,
    byteParts: {
      lfs: { tables: ['lfs_meta_object'], isByRepository: true, count: countLfs },
      attachments: { tables: ['attachment'], isByRepository: true, count: countAttachments },
      artifacts: { tables: ['action_artifact'], isByRepository: true, count: countArtifacts },
      packages: {
        tables: ['package', 'package_version', 'package_file', 'package_blob'],
        // Packages have owners of their own.
        isByRepository: false,
        count: countPackages,
      },
    },
    eachOwner,
    members: membersIn,
    eachRepository: (db, _owners, take) =>
      eachRow(db, { table: 'repository', columns: giteaTables.repository.slice(1) }, (id, row) =>
        take({
          id,
          ownerId: numberAt(row, 1),
          name: `${textAt(row, 2)}/${textAt(row, 3)}`.toLowerCase(),
          isPublic: !flagAt(row, 4),
        }),
      ),
    lfsObjects: async (db, name) => {
      const id = await repositoryIdOf(db, name);
      const rows = { table: 'lfs_meta_object', repository: 'repository_id', key: 'id' } as const;
      return id === null ? [] : lfsObjectsOf(db, rows, id);
    },
  };
}
