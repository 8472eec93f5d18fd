/** Reads the accounts and groups in this host's own files. A directory service such as LDAP may have more. */

import { readFileSync } from 'node:fs';
import { systemCode } from './errors.ts';

export interface SystemAccount {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

export interface Accounts {
  readonly users: readonly SystemAccount[];
  /** `members` lacks the users whose primary group it is. */
  readonly groups: readonly {
    readonly name: string;
    readonly gid: number;
    readonly members: readonly string[];
  }[];
}

/** Parses texts in the forms of passwd(5) and group(5). Other lines are skipped. */
export function parseAccounts(passwd: string, group: string): Accounts {
  return {
    users: fieldsOf(passwd).flatMap(([name = '', , uid = '', gid = '', , home = '']) =>
      isNumber(uid) && isNumber(gid) ? [{ name, uid: Number(uid), gid: Number(gid), home }] : [],
    ),
    groups: fieldsOf(group).flatMap(([name = '', , gid = '', members = '']) =>
      isNumber(gid)
        ? [{ name, gid: Number(gid), members: members.split(',').filter(each => each !== '') }]
        : [],
    ),
  };
}

/** Reads a file in the form of passwd(5), and /etc/group. A file that cannot be read counts as empty. */
export function systemAccounts(passwd = '/etc/passwd'): Accounts {
  return parseAccounts(textOf(passwd), textOf('/etc/group'));
}

/** The accounts in any of these groups, as their primary or as a further group. */
export function accountsIn(
  gids: ReadonlySet<number>,
  { users, groups }: Accounts = systemAccounts(),
): readonly SystemAccount[] {
  const members = new Set(groups.filter(({ gid }) => gids.has(gid)).flatMap(group => group.members));
  return users.filter(({ name, gid }) => gids.has(gid) || members.has(name));
}

export function userName(uid: number): string | null {
  return systemAccounts().users.find(user => user.uid === uid)?.name ?? null;
}

export function homeOf(uid: number): string | null {
  return systemAccounts().users.find(user => user.uid === uid)?.home ?? null;
}

/** The name of a group, or its number if it has no name. */
export function groupName(gid: number): string {
  return systemAccounts().groups.find(group => group.gid === gid)?.name ?? String(gid);
}

/** A user for people: `git`, or `uid 4711`. */
export function userWords(uid: number): string {
  return userName(uid) ?? `uid ${uid}`;
}

function fieldsOf(text: string): string[][] {
  return text.split('\n').map(line => line.split(':'));
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return '';
  }
}
