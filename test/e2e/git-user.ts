/** A server whose repositories belong to the user that git runs as, and the worker as that user. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { until } from './ask.ts';
import { launcher } from './daemon.ts';
import { plainEnvironment, type Run, run } from './run.ts';
import { type Ini, Server } from './server.ts';

/** Number of the owner of the repositories; no user of the system. */
export const uid = 42_424;

/** A server whose repositories, and a folder `clones`, belong to that user, who may reach its sockets. */
export async function openForGitUser(t: Test, ini: Ini): Promise<Server> {
  const server = await Server.open(t, {
    ini: { ...ini, server: { TRUSTED_MODE: '0660', SOCKET_MODE: '0660' } },
  });
  for (const place of [server.folder, join(server.folder, 'data')]) await chmod(place, 0o711);
  await admitGitUser(server);
  for (const name of ['git', 'clones']) {
    await mkdir(join(server.folder, name), { recursive: true });
    await chown(join(server.folder, name), uid, uid);
  }
  return server;
}

/** After each start of the daemon. */
export async function admitGitUser(server: Server): Promise<void> {
  for (const name of ['gate', 'trusted'] as const) await chown(server.socket(name), 0, uid);
}

/** git as the user that it runs as on the server. */
export function gitAs(cwd: string, ...args: readonly string[]): Promise<Run> {
  const [command, all] = asGitUser('git', args);
  return run(command, all, { cwd });
}

/** Command that runs a program as another user, its command line following; only root can. */
export const asUser = (id: number, group = id): readonly string[] => [
  ...['setpriv', `--reuid=${id}`, `--regid=${group}`, '--clear-groups', '--'],
];

function asGitUser(command: string, args: readonly string[]): readonly [string, readonly string[]] {
  const [first = command, ...others] = [...asUser(uid), command, ...args];
  return [first, others];
}

/** Resolves once the worker has looked at all repositories; `around` is what runs it, as root. */
export async function startWorker(
  t: Test,
  server: Server,
  around: readonly string[] = [],
): Promise<ChildProcess & { said(): string }> {
  const own = asGitUser(process.execPath, [launcher, 'worker', '--config', server.config]).flat();
  const [command = '', ...args] = [...around, ...own];
  const child = spawn(command, args, {
    env: plainEnvironment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (text += chunk));
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    // With all that is around it: `unshare` alone would leave the worker behind.
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    await once(child, 'exit');
  });
  await until(
    () => (text.includes('the worker has looked at all repositories') ? true : null),
    () => text,
  );
  return Object.assign(child, { said: () => text });
}

export async function makeRepository(server: Server, name: string): Promise<string> {
  const path = server.path(name);
  const { code, stderr } = await gitAs('/', 'init', '-q', '--bare', '-b', 'main', path);
  if (code !== 0) throw new Error(stderr);
  return path;
}
