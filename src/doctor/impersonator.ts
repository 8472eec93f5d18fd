/**
 * Run by itself: what a user may do with files, in the system's own judgement, which knows groups, access
 * control lists and directory services.
 *
 * In: a `RightsOrder` as JSON on standard input. Out: `GrantedRights` as JSON. Started as root it becomes the
 * user, for good; else it has to be the user already.
 */

import { accessSync, constants, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { systemCode } from '../errors.ts';
import { encodePath } from '../layout/index.ts';

export type Right = 'search' | 'read' | 'write' | 'execute';

export interface RightsOrder {
  readonly uid: number;
  /** The primary group of a user whom no database knows. */
  readonly gid: number;
  readonly wanted: readonly { readonly path: string; readonly right: Right }[];
}

export interface GrantedRights {
  readonly gid: number;
  readonly groups: readonly number[];
  /** For each that is wanted, the system's code where it is not granted. */
  readonly refused: readonly (string | null)[];
}

const modes: Readonly<Record<Right, number>> = {
  search: constants.X_OK,
  read: constants.R_OK,
  write: constants.W_OK,
  // A script is read by its interpreter.
  execute: constants.R_OK | constants.X_OK,
};

/** Node has had it ever since, and its types have not. */
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

/** Asked as the user, since Node tells of nobody else; null where the system does not know them. */
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
