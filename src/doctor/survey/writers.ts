/** Servers on which every pusher is a user of their own: who may write repositories through a group. */

import { statSync } from 'node:fs';
import { type Accounts, type SystemAccount, systemAccounts } from '../../accounts.ts';
import { encodePath } from '../../layout/index.ts';

const writeByGroup = 0o020;

/** The accounts besides root that may write one of these repositories as members of its group. */
export function groupWriters(
  repositories: readonly string[],
  { users, groups }: Accounts = systemAccounts(),
): readonly SystemAccount[] {
  const writing = new Set(repositories.flatMap(groupOf));
  const members = new Set(groups.filter(({ gid }) => writing.has(gid)).flatMap(group => group.members));
  return users.filter(({ name, uid, gid }) => uid !== 0 && (members.has(name) || writing.has(gid)));
}

/** The group that may write the repository's objects. */
function groupOf(repository: string): readonly number[] {
  try {
    const { mode, gid } = statSync(encodePath(`${repository}/objects`));
    return (mode & writeByGroup) === 0 ? [] : [gid];
  } catch {
    return []; // gone, or not for this user
  }
}
