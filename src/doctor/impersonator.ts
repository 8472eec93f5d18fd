/**
 * Entry of a process that finds out what a user may do with files. It asks the system itself, which knows
 * groups, access control lists and directory services.
 *
 * In: a `RightsOrder` as JSON on standard input. Out: `GrantedRights` as JSON. If root starts it, it becomes
 * the user for good; else that user has to start it.
 */

import { accessSync, constants, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { systemCode } from '../errors.ts';
import { encodePath } from '../layout/index.ts';

export type Right = 'search' | 'read' | 'write' | 'execute';

export interface RightsOrder {
  readonly uid: number;
  /** The primary group, used if no database knows the user. */
  readonly gid: number;
  readonly wanted: readonly { readonly path: string; readonly right: Right }[];
}

export interface GrantedRights {
  readonly gid: number;
  readonly groups: readonly number[];
  /** For each wanted right, the system's error code; null if the right is granted. */
  readonly refused: readonly (string | null)[];
}

const modes: Readonly<Record<Right, number>> = {
  search: constants.X_OK,
  read: constants.R_OK,
  write: constants.W_OK,
  // The interpreter has to read a script.
  execute: constants.R_OK | constants.X_OK,
};

/** Node has `initgroups`, and its types lack it. */
const self: NodeJS.Process & { initgroups?(user: number, extraGroup: number): void } = process;

function become(uid: number, gid: number): number {
  if (process.getuid?.() !== 0) return process.getgid?.() ?? gid;
  const primary = primaryGroup(uid) ?? gid;
  try {
    self.initgroups?.(uid, primary);
  } catch {
    process.setgroups?.([]);
  }
  process.setgid?.(primary);
  process.setuid?.(uid);
  return primary;
}

/** Becomes the user to ask, since Node answers for no other; null if the system knows no such user. */
function primaryGroup(uid: number): number | null {
  process.seteuid?.(uid);
  try {
    return userInfo().gid;
  } catch {
    return null;
  } finally {
    process.seteuid?.(0);
  }
}

function refusal(path: string, right: Right): string | null {
  try {
    accessSync(encodePath(path), modes[right]);
    return null;
  } catch (error) {
    return systemCode(error) ?? 'EINVAL';
  }
}

const order: RightsOrder = JSON.parse(readFileSync(0, 'utf8'));
const gid = become(order.uid, order.gid);
const answers: GrantedRights = {
  gid,
  groups: process.getgroups?.() ?? [],
  refused: order.wanted.map(({ path, right }) => refusal(path, right)),
};
process.stdout.write(JSON.stringify(answers));
