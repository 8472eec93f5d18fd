/** Users and groups of GitLab, and who belongs to a group. */

import type { ForgeDatabase } from '../database.ts';
import { addMember, membersById } from '../members.ts';
import { eachRow, flagAt, numberAt, textAt } from '../pages.ts';
import type { ForgeMembers, ForgeOwner } from '../picture.ts';
import type { Namespaces } from './namespaces.ts';
import { gitlabTables } from './tables.ts';

/** The value of `members.access_level` that owners have. */
const ownerAccess = 50;

/** Reads the namespaces again, too. */
export async function eachGitlabOwner(
  db: ForgeDatabase,
  namespaces: Namespaces,
  take: (owner: ForgeOwner) => void,
): Promise<void> {
  const users = new Map<number, { readonly email: string; readonly isAdmin: boolean }>();
  await eachRow(db, { table: 'users', columns: gitlabTables.users.slice(1) }, (id, row) => {
    users.set(id, { email: textAt(row, 1), isAdmin: flagAt(row, 2) });
  });
  await namespaces.read(db);
  for (const { id, isGroup, userId } of namespaces.owners) {
    const name = namespaces.fullPathOf(id);
    const user = users.get(userId);
    // A group whose parents are not all there has no name.
    if (name === '') continue;
    take({
      id,
      name,
      type: isGroup ? 'organization' : 'user',
      email: user?.email ?? '',
      isAdmin: user?.isAdmin ?? false,
    });
  }
}

/** Members of groups, who are members of the subgroups, too. */
export async function gitlabMembers(
  db: ForgeDatabase,
  namespaces: Namespaces,
): Promise<readonly ForgeMembers[]> {
  const direct = { owners: new Map<number, Set<number>>(), all: new Map<number, Set<number>>() };
  await eachRow(db, { table: 'members', columns: gitlabTables.members.slice(1) }, (_, row) => {
    const user = namespaces.ownerIdOfUser(numberAt(row, 3));
    const isRequest = textAt(row, 5) !== '';
    if (textAt(row, 1) !== 'Namespace' || user === undefined || isRequest) return;
    const group = numberAt(row, 2);
    addMember(direct.all, group, user);
    if (numberAt(row, 4) >= ownerAccess) addMember(direct.owners, group, user);
  });
  const owners = new Map<number, Set<number>>();
  const all = new Map<number, Set<number>>();
  for (const { id, isGroup } of namespaces.owners) {
    if (!isGroup) continue;
    for (const { id: above } of namespaces.lineOf(id)) {
      for (const user of direct.all.get(above) ?? []) addMember(all, id, user);
      for (const user of direct.owners.get(above) ?? []) addMember(owners, id, user);
    }
  }
  return membersById(owners, all);
}
