/** Gogs: Gitea's ancestor, without packages and actions. */

import type { ForgeDatabase } from '../database.ts';
import type { ForgeSchema } from '../forge-schema.ts';
import { eachOwner } from '../gitea/accounts.ts';
import { lfsObjectsOf, repositoryIdOf } from '../lfs-objects.ts';
import { addMember, membersById } from '../members.ts';
import { eachRow, flagAt, numberAt, textAt } from '../pages.ts';
import type { ForgeMembers } from '../picture.ts';
import { countGogsAttachments } from './attachments.ts';
import { countGogsLfs } from './lfs.ts';
import { gogsTables } from './tables.ts';

/** `attachmentsPath`: finds out where the files of attachments are, each time that they are counted. */
export function gogsSchema(attachmentsPath: () => string): ForgeSchema {
  return {
    needed: gogsTables,
    versionTable: 'version',
    accountTables: ['user', 'org_user'],
    repositoryTables: ['repository', 'user'],
    tellsOwners: false,
    byteParts: {
      lfs: { tables: ['lfs_object'], isByRepository: true, count: countGogsLfs },
      attachments: {
        tables: ['attachment', 'issue', 'release'],
        isByRepository: true,
        count: (db, whose) => countGogsAttachments(db, whose, attachmentsPath()),
      },
    },
    eachOwner,
    members: membersIn,
    eachRepository: (db, owners, take) =>
      eachRow(db, { table: 'repository', columns: gogsTables.repository.slice(1) }, (id, row) => {
        const ownerId = numberAt(row, 1);
        const owner = owners.nameAt(owners.ids.rowOf(ownerId)) ?? '';
        const name = `${owner}/${textAt(row, 2)}`.toLowerCase();
        take({ id, ownerId, name, isPublic: !flagAt(row, 3) });
      }),
    lfsObjects: async (db, name) => {
      const id = await repositoryIdOf(db, name);
      const rows = { table: 'lfs_object', repository: 'repo_id', key: 'oid' } as const;
      return id === null ? [] : lfsObjectsOf(db, rows, id);
    },
  };
}

async function membersIn(db: ForgeDatabase): Promise<readonly ForgeMembers[]> {
  const owners = new Map<number, Set<number>>();
  const all = new Map<number, Set<number>>();
  await eachRow(db, { table: 'org_user', columns: gogsTables.org_user.slice(1) }, (_, row) => {
    const [user, organization] = [numberAt(row, 1), numberAt(row, 2)];
    addMember(all, organization, user);
    if (flagAt(row, 3)) addMember(owners, organization, user);
  });
  return membersById(owners, all);
}
