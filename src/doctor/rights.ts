/**
 * Checks that users can reach files, and finds the place that blocks them: the users that git runs as need
 * the gate's socket, and the hooks.
 */

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Accounts,
  accountsIn,
  groupName,
  type SystemAccount,
  systemAccounts,
  userName,
  userWords,
} from '../accounts.ts';
import { runProgram } from '../bounded/index.ts';
import { commandLine } from '../health/index.ts';
import { encodePath } from '../layout/index.ts';
import { entryUrl } from '../package.ts';
import { printable } from '../text.ts';
import type { GrantedRights, Right, RightsOrder } from './impersonator.ts';
import { type HookUser, type Installation, type Report, setKey } from './installation.ts';
import { physical, statusOf } from './paths.ts';
import type { Repository } from './repositories.ts';

export interface RunHook {
  readonly path: string;
  readonly user: HookUser;
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

export function mayAskFor(uid: number, user: HookUser): boolean {
  return uid === 0 || uid === user.uid;
}

/** Finds the place that blocks each target for the user. A target that does not exist is not blocked. */
export async function blockedFor(
  user: HookUser,
  targets: readonly { readonly path: string; readonly right: Right }[],
): Promise<readonly Blocked[]> {
  const ways = targets.map(({ path, right }) => ({
    path,
    steps: [...aboveOf(path).map(at => ({ path: at, right: 'search' as const })), { path, right }],
  }));
  const wanted = new Map(ways.flatMap(({ steps }) => steps.map(step => [keyOf(step), step])));
  const answers = await answered({ ...user, wanted: [...wanted.values()] });
  const denied = new Set(
    [...wanted.keys()].filter((_, index) => ['EACCES', 'EPERM'].includes(answers.refused[index] ?? '')),
  );
  const groups = [answers.gid, ...answers.groups];
  return ways.flatMap(({ path, steps }) => {
    const first = steps.find(step => denied.has(keyOf(step)));
    return first === undefined ? [] : [{ target: path, at: first.path, right: first.right, user, groups }];
  });
}

function keyOf({ path, right }: { readonly path: string; readonly right: Right }): string {
  return `${right} ${path}`;
}

/** The directories on the way, from `/`, including those that links lead through. */
function aboveOf(path: string): string[] {
  const parents: string[] = [];
  for (let at = dirname(path); ; at = dirname(at)) {
    parents.unshift(at);
    if (at === '/') break;
  }
  const real = physical(path);
  return real === path ? parents : [...parents, ...aboveOf(real)];
}

async function answered(order: RightsOrder): Promise<GrantedRights> {
  const { status, output, complaint } = await runProgram(process.execPath, [impersonator], {
    timeoutMs: 30_000,
    input: JSON.stringify(order),
    mostBytes: 64 * 1024 * 1024,
  });
  if (status === 0) return JSON.parse(output);
  throw new Error(`${impersonator} ended with ${status}: ${complaint}`);
}

const letters: Readonly<Record<Right, string>> = { search: 'x', read: 'r', write: 'w', execute: 'rx' };

/** The command that gives the right to the user's class only: owner, group or others. */
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

/** Most users that are checked, each by a process, and most processes at a time. */
const mostUsers = 100;
const atATime = 8;

/**
 * Checks that the owners of repositories, and users who may write them as members of their group, can reach
 * the socket. `hooks`: hooks that git runs, and that their repository's owner has to be able to run.
 */
export async function checkReachability(
  report: Report,
  installation: Installation,
  repositories: readonly Repository[],
  hooks: readonly RunHook[],
): Promise<void> {
  const { loaded, context } = installation;
  const { socket } = loaded.config.server;
  const users: readonly HookUser[] = [
    ...repositories.map(({ user }) => user),
    ...groupWriters(repositories.map(({ path }) => path)),
  ];
  const all = [...new Map(users.map(user => [user.uid, user])).values()];
  const asked = all.filter(user => mayAskFor(context.uid, user)).slice(0, mostUsers);
  const told = new Set<string>();
  for (let at = 0; at < asked.length; at += atATime) {
    const blocks = await Promise.all(
      asked.slice(at, at + atATime).map(user => {
        const own = hooks.filter(hook => hook.user.uid === user.uid);
        const run = own.map(({ path }) => ({ path, right: 'execute' as const }));
        return blockedFor(user, [{ path: socket, right: 'write' }, ...run]);
      }),
    );
    for (const block of blocks.flat()) {
      const because = block.at === block.target ? '' : `, on the way to ${printable(block.target)}`;
      const code = block.target === socket ? 'gate_blocked' : 'hook_blocked';
      const mend = block.at === socket ? socketMend(installation, block) : grant(block);
      // One fix opens the path for all users, unless it names a user.
      const key = `${code} ${block.at} ${mend}`;
      if (!told.has(key)) report.found(code, `${blockedWords(block)}${because}`, mend);
      told.add(key);
    }
  }
  const missed = all.filter(user => !mayAskFor(context.uid, user)).map(({ uid }) => userWords(uid));
  const names = asked.map(({ uid }) => printable(userWords(uid))).join(', ');
  const others = printable(missed.slice(0, 3).join(', '));
  if (names !== '') report.checked.push(`the permissions of ${names}`);
  if (others !== '') report.missed.push(`whether ${others} can use the gate's socket`);
}

/** A fix that outlasts a restart, at which the daemon makes its socket again. */
function socketMend(installation: Installation, block: Blocked): string {
  const { socketMode, socketGroup } = installation.loaded.config.server;
  const { mode, gid, uid } = statSync(encodePath(block.at));
  const configured = socketMode.toString(8).padStart(4, '0');
  if ((mode & 0o7777) !== socketMode) return commandLine('chmod', configured, block.at);
  if ((socketMode & 0o020) === 0) return setKey(installation, 'server', 'SOCKET_MODE', '0660', 'restart');
  const name = userName(block.user.uid);
  // Root's group has other rights; a daemon with its own user has a group that users may join.
  if (uid !== 0 && gid !== 0 && name !== null) {
    return `${commandLine('usermod', '-a', '-G', groupName(gid), name)}  # takes effect at the next login`;
  }
  const group = groupName(block.groups[0] ?? block.user.gid);
  if (socketGroup !== group) return setKey(installation, 'server', 'SOCKET_GROUP', group, 'restart');
  return commandLine('chgrp', group, block.at);
}

const writeByGroup = 0o020;

/** The accounts besides root that may write one of these repositories as members of its group. */
export function groupWriters(
  repositories: readonly string[],
  accounts: Accounts = systemAccounts(),
): readonly SystemAccount[] {
  const groups = repositories.flatMap(path => {
    const objects = statusOf(`${path}/objects`);
    return objects === null || (objects.mode & writeByGroup) === 0 ? [] : [objects.gid];
  });
  return accountsIn(new Set(groups), accounts).filter(({ uid }) => uid !== 0);
}
