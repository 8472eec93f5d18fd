/**
 * Tells whether the users that git runs as get at what a push needs: the gate's socket and the hooks.
 */

import { statSync } from 'node:fs';
import { groupName, userName, userWords } from '../accounts.ts';
import { commandLine, makeFinding } from '../health/index.ts';
import { encodePath } from '../layout/index.ts';
import { printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import type { CheckResult } from './check-result.ts';
import type { RunHook } from './hooks.ts';
import type { Right } from './impersonator.ts';
import type { Installation } from './installation.ts';
import { setKey } from './mend.ts';
import type { Repository } from './repositories.ts';
import { type Blocked, blockedFor, blockedWords, grant, type HookUser, mayAskFor } from './rights.ts';
import { groupWriters } from './survey/writers.ts';

/** Each is asked for by a process of its own, and so many of them run at a time. */
const mostUsers = 100;
const atATime = 8;

interface Target {
  readonly code: 'gate_blocked' | 'hook_blocked';
  readonly path: string;
  readonly right: Right;
}

/**
 * Checks that the socket can be reached by the owners of repositories, and by those who may write them as
 * members of their group. `hooks`: hooks that git runs, of repositories that are well otherwise.
 */
export async function checkReachability(
  installation: Installation,
  repositories: readonly Repository[],
  hooks: readonly RunHook[],
): Promise<CheckResult> {
  const { loaded, context } = installation;
  const { socket } = loaded.config.server;
  const users: readonly HookUser[] = [
    ...repositories.map(({ user }) => user),
    ...groupWriters(repositories.map(({ path }) => path)),
  ];
  const all = [...new Map(users.map(user => [user.uid, user])).values()];
  const asked = all.filter(user => mayAskFor(context.uid, user)).slice(0, mostUsers);
  const found: { readonly block: Blocked; readonly code: Target['code'] | undefined }[] = [];
  for (let at = 0; at < asked.length; at += atATime) {
    const some = asked.slice(at, at + atATime);
    const blocks = await Promise.all(some.map(blocksOf));
    found.push(...blocks.flat());
  }

  async function blocksOf(user: HookUser) {
    const targets: Target[] = [
      { code: 'gate_blocked', path: socket, right: 'write' },
      ...hooks
        .filter(hook => hook.user.uid === user.uid)
        .map(({ path }): Target => ({ code: 'hook_blocked', path, right: 'execute' })),
    ];
    const blocked = await blockedFor(user, targets);
    return blocked.map(block => ({ block, code: targets.find(({ path }) => path === block.target)?.code }));
  }
  const told = new Map<string, Finding>();
  for (const { block, code } of found) {
    if (code === undefined) continue;
    const finding = blockFinding(installation, code, block);
    // One mend opens the path for all users, unless it names a user.
    const key = `${code} ${block.at} ${finding.mend}`;
    if (!told.has(key)) told.set(key, finding);
  }
  const missed = all.filter(user => !mayAskFor(context.uid, user)).map(({ uid }) => userWords(uid));
  return {
    findings: [...told.values()],
    ...(asked.length === 0
      ? {}
      : { checked: [`the permissions of ${asked.map(({ uid }) => printable(userWords(uid))).join(', ')}`] }),
    ...(missed.length === 0
      ? {}
      : { missed: [`whether ${printable(missed.slice(0, 3).join(', '))} can use the gate's socket`] }),
  };
}

function blockFinding(installation: Installation, code: Target['code'], block: Blocked): Finding {
  const because = block.at === block.target ? '' : `, on the way to ${printable(block.target)}`;
  const isSocket = code === 'gate_blocked' && block.at === block.target;
  const mend = isSocket ? socketMend(installation, block) : grant(block);
  return makeFinding(code, `${blockedWords(block)}${because}`, mend);
}

/** Gives a command whose effect outlasts a restart, at which the daemon makes its socket again. */
function socketMend(installation: Installation, block: Blocked): string {
  const { socketMode, socketGroup } = installation.loaded.config.server;
  const { mode, gid, uid } = statSync(encodePath(block.at));
  const configured = socketMode.toString(8).padStart(4, '0');
  if ((mode & 0o7777) !== socketMode) return commandLine('chmod', configured, block.at);
  if ((socketMode & 0o020) === 0) return setKey(installation, 'server', 'SOCKET_MODE', '0660', 'restart');
  const name = userName(block.user.uid);
  // Root's group has other rights; a group of the daemon's own is made for this.
  if (uid !== 0 && gid !== 0 && name !== null) {
    return `${commandLine('usermod', '-a', '-G', groupName(gid), name)}  # takes effect at the next login`;
  }
  const group = groupName(block.groups[0] ?? block.user.gid);
  if (socketGroup !== group) return setKey(installation, 'server', 'SOCKET_GROUP', group, 'restart');
  return commandLine('chgrp', group, block.at);
}
