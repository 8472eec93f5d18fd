/** Users and organizations of Gitea, Forgejo and Gogs, and who belongs to an organization. */

import type { ForgeDatabase } from '../database.ts';
import { addMember, membersById } from '../members.ts';
import { eachRow, flagAt, numberAt, textAt } from '../pages.ts';
import type { ForgeMembers, ForgeOwner } from '../picture.ts';
import { giteaTables } from './tables.ts';

/** The values of `user.type` that own data: 0 a user, 1 an organization, 4 a bot. */
const types: Readonly<Record<number, ForgeOwner['type']>> = { 0: 'user', 1: 'organization', 4: 'user' };

/** The value of `team.authorize` that owners have. */
const ownerAccess = 4;

export async function eachOwner(db: ForgeDatabase, take: (owner: ForgeOwner) => void): Promise<void> {
  const columns = giteaTables.user.slice(1);
  await eachRow(db, { table: 'user', columns }, (id, row) => {
    const type = types[numberAt(row, 2)];
    if (type === undefined) return;
    take({ id, name: textAt(row, 1), type, email: textAt(row, 3), isAdmin: flagAt(row, 4) });
  });
}

/** Gives the organizations that have members, by ascending ids. */
export async function membersIn(db: ForgeDatabase): Promise<readonly ForgeMembers[]> {
  const ownerTeams = new Map<number, number>();
  await eachRow(db, { table: 'team', columns: giteaTables.team.slice(1) }, (id, row) => {
    if (numberAt(row, 2) === ownerAccess) ownerTeams.set(id, numberAt(row, 1));
  });
  const owners = new Map<number, Set<number>>();
  await eachRow(db, { table: 'team_user', columns: giteaTables.team_user.slice(1) }, (_, row) => {
    const organization = ownerTeams.get(numberAt(row, 1));
    if (organization !== undefined) addMember(owners, organization, numberAt(row, 2));
  });
  const all = new Map<number, Set<number>>();
  await eachRow(db, { table: 'org_user', columns: giteaTables.org_user.slice(1) }, (_, row) => {
    addMember(all, numberAt(row, 2), numberAt(row, 1));
  });
  return membersById(owners, all);
}
