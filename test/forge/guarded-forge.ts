/** A real Gitea under quota: its hooks and template directory are installed, and a worker guards the rest. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { launcher } from '../e2e/daemon.ts';
import { must, plainEnvironment } from '../e2e/run.ts';
import { Server } from '../e2e/server.ts';
import { RealForge } from './real-forge.ts';
import { namedStorages } from './storages.ts';

/** User who runs the forge and the worker; no user of the system. */
const uid = 42_424;

export interface GuardedForge {
  readonly server: Server;
  readonly forge: RealForge;
  /** A work tree with one commit. */
  readonly work: string;
}

/** The versions of scripts/real-forge; `more` are more sections of the forge's app.ini. */
export async function guardedForge(t: Test, version: string, more = ''): Promise<GuardedForge> {
  const server = await Server.open(t, { started: false });
  for (const place of [server.folder, join(server.folder, 'data')]) await chmod(place, 0o711);
  const folder = join(server.folder, 'gitea');
  const forge = await RealForge.start(t, { version, folder, uid, more });
  await forge.user('alice');
  await forge.ask('POST', '/api/v1/admin/users/alice/repos', { name: 'app', auto_init: true });
  await server.configure({
    forge: { KIND: 'gitea', CONFIG: forge.config },
    server: { SOCKET_MODE: '0666', TRUSTED_MODE: '0666' },
    hooks: { KEEP: 'true' },
    ...namedStorages(forge.repositories),
  });
  await server.start();
  const installed = await server.softquota(['hooks', 'install', forge.repositories]);
  t.equal(installed.code, 0);
  const lines = /\[git\.config\]\n *init\.templateDir = .+/.exec(installed.stdout)?.[0] ?? '';
  await writeFile(forge.config, `${await readFile(forge.config, 'utf8')}\n${lines}\n`);
  await forge.restart();
  await startWorker(t, server);
  const work = join(server.folder, 'work');
  await must('git', ['init', '-q', '-b', 'main', work]);
  await must('git', ['-C', work, 'commit', '-q', '--allow-empty', '-m', 'x']);
  return { server, forge, work };
}

/** Runs the worker as the user who runs the git server. */
export async function startWorker(t: Test, server: Server, user = uid): Promise<ChildProcess> {
  const as = ['--reuid', String(user), '--regid', String(user), '--clear-groups', '--'];
  const args = [...as, process.execPath, launcher, 'worker', '--config', server.config];
  await chown(server.config, user, user);
  const child = spawn('setpriv', args, { env: plainEnvironment, stdio: ['ignore', 'ignore', 'pipe'] });
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill();
    await once(child, 'exit');
  });
  await once(child.stderr, 'data');
  return child;
}

/** Sets the bytes that alice stores elsewhere: over her limit, or nothing. */
export async function uses(server: Server, bytes: number): Promise<void> {
  const body = { owner: 'alice', subject: 'size:assets:artifacts', unit: 'x', bytes };
  const { status, text } = await server.ask('trusted', '/v1/units', { body });
  if (status !== 200) throw new Error(`${status} ${text}`);
}
