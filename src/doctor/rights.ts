/** Tells whether a user gets at files, and which place keeps them out. */

import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { userWords } from '../accounts.ts';
import { runProgram } from '../bounded/index.ts';
import { commandLine } from '../health/index.ts';
import { decodePath, encodePath } from '../layout/index.ts';
import { entryUrl } from '../package.ts';
import { printable } from '../text/index.ts';
import type { GrantedRights, Right, RightsOrder } from './impersonator.ts';

export interface HookUser {
  readonly uid: number;
  /** The group of the user's files, for one whom no database knows. */
  readonly gid: number;
}

/** The first place on the way to `target` at which the user lacks a right. */
export interface Blocked {
  readonly target: string;
  readonly at: string;
  readonly right: Right;
  readonly user: HookUser;
  readonly groups: readonly number[];
}

const impersonator = fileURLToPath(entryUrl('doctor/impersonator'));

/** Tells whether `uid` may find out what `user` may do. */
export function mayAskFor(uid: number, user: HookUser): boolean {
  return uid === 0 || uid === user.uid;
}

/** For each target that is kept from the user, where. What does not exist is not. */
export async function blockedFor(
  user: HookUser,
  targets: readonly { readonly path: string; readonly right: Right }[],
): Promise<readonly Blocked[]> {
  const ways = targets.map(({ path, right }) => ({
    path,
    steps: [...aboveOf(path).map(at => ({ path: at, right: 'search' as const })), { path, right }],
  }));
  const wanted = new Map(ways.flatMap(({ steps }) => steps.map(step => [keyOf(step), step])));
  const answers = await asked({ ...user, wanted: [...wanted.values()] });
  const denied = new Set([...wanted.keys()].filter((_, index) => isDenied(answers.refused[index])));
  const groups = [answers.gid, ...answers.groups];
  return ways.flatMap(({ path, steps }) => {
    const first = steps.find(step => denied.has(keyOf(step)));
    return first === undefined ? [] : [{ target: path, at: first.path, right: first.right, user, groups }];
  });
}

function keyOf({ path, right }: { readonly path: string; readonly right: Right }): string {
  return `${right} ${path}`;
}

function isDenied(code: string | null | undefined): boolean {
  return code === 'EACCES' || code === 'EPERM';
}

/** The directories to be searched on the way, from `/`, those that links lead through included. */
function aboveOf(path: string): string[] {
  const parents: string[] = [];
  for (let at = dirname(path); ; at = dirname(at)) {
    parents.unshift(at);
    if (at === '/') break;
  }
  const real = physical(path);
  return real === null || real === path ? parents : [...parents, ...aboveOf(real)];
}

function physical(path: string): string | null {
  try {
    return decodePath(realpathSync.native(encodePath(path), { encoding: 'buffer' }));
  } catch {
    return null;
  }
}

async function asked(order: RightsOrder): Promise<GrantedRights> {
  const { status, output, complaint } = await runProgram(process.execPath, [impersonator], {
    timeoutMs: 30_000,
    input: JSON.stringify(order),
    mostBytes: 64 * 1024 * 1024,
  });
  if (status === 0) return JSON.parse(output);
  throw new Error(`${impersonator} ended with ${status}: ${complaint}`);
}

const letters: Readonly<Record<Right, string>> = { search: 'x', read: 'r', write: 'w', execute: 'rx' };

/**
 * The command that gives the right: to the class of users that the system puts this one in, and to no other.
 */
export function grant({ at, right, user, groups }: Blocked): string {
  const { uid, gid } = statSync(encodePath(at));
  const to = uid === user.uid ? 'u' : groups.includes(gid) ? 'g' : 'o';
  return commandLine('chmod', `${to}+${letters[right]}`, at);
}

/** Returns a sentence such as `git may not search /srv`. */
export function blockedWords({ at, right, user }: Blocked): string {
  const mode = (statSync(encodePath(at)).mode & 0o7777).toString(8).padStart(4, '0');
  const verb = right === 'write' ? 'use' : right === 'execute' ? 'run' : right;
  return `${printable(userWords(user.uid))} may not ${verb} ${printable(at)} (mode ${mode})`;
}
