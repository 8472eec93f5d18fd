/** Names of users and groups, as the host's own files have them: a directory service may know more. */

import { systemAccounts } from './survey/accounts.ts';

export function userName(uid: number): string | null {
  return systemAccounts().users.find(user => user.uid === uid)?.name ?? null;
}

export function homeOf(uid: number): string | null {
  return systemAccounts().users.find(user => user.uid === uid)?.home ?? null;
}

/** The number where there is no name. */
export function groupName(gid: number): string {
  return systemAccounts().groups.find(group => group.gid === gid)?.name ?? String(gid);
}

/** A user for people: `git`, or `uid 4711`. */
export function userWords(uid: number): string {
  return userName(uid) ?? `uid ${uid}`;
}
