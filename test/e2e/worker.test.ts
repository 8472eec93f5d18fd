/** `softquota worker` beside a daemon: as another user than root, over restarts of the daemon. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { until } from './ask.ts';
import { launcher } from './daemon.ts';
import { must, plainEnvironment, run } from './run.ts';
import { Server } from './server.ts';

const isRoot = process.getuid?.() === 0;
/** Whose the repositories are; no user of the system. */
const uid = isRoot ? 42_424 : (process.getuid?.() ?? 0);

/** A server whose repositories belong to that user, who may reach its sockets. */
async function open(t: Test): Promise<Server> {
  const server = await Server.open(t, {
    ini: { hooks: { KEEP: 'true' }, server: { TRUSTED_MODE: '0660', SOCKET_MODE: '0660' } },
  });
  if (isRoot) for (const place of [server.folder, join(server.folder, 'data')]) await chmod(place, 0o711);
  await admit(server);
  if (isRoot) await chown(join(server.folder, 'git'), uid, uid);
  return server;
}

async function admit(server: Server): Promise<void> {
  if (!isRoot) return;
  for (const name of ['gate', 'trusted'] as const) await chown(server.socket(name), 0, uid);
}

const as = (command: string, args: readonly string[]): readonly [string, readonly string[]] =>
  isRoot
    ? ['setpriv', ['--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--', command, ...args]]
    : [command, args];

async function startWorker(t: Test, server: Server): Promise<ChildProcess & { said(): string }> {
  const [command, args] = as(process.execPath, [launcher, 'worker', '--config', server.config]);
  const child = spawn(command, args, { env: plainEnvironment, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (text += chunk));
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  return Object.assign(child, { said: () => text });
}

async function makeRepository(server: Server, name: string): Promise<string> {
  const [command, args] = as('git', ['init', '-q', '--bare', '-b', 'main', server.path(name)]);
  await must(command, args);
  return server.path(name);
}

const isGuarded = (server: Server, path: string) =>
  until(async () => {
    const config = await readFile(join(path, 'config'), 'utf8');
    const { code } = await server.softquota(['hooks', 'status', '--config', server.config, path]);
    return code === 0 && config.includes('[softquota]') ? true : null;
  });

async function codesOf(server: Server): Promise<readonly string[]> {
  const { stdout } = await server.softquota(['doctor', '--json']);
  const found: readonly { readonly code: string }[] = JSON.parse(stdout);
  return found.map(({ code }) => code);
}

t.test('a new repository is guarded while nobody does anything, also after the daemon restarts', async t => {
  const server = await open(t);
  const first = await makeRepository(server, 'alice/first');
  const worker = await startWorker(t, server);
  await isGuarded(server, first);
  const second = await makeRepository(server, 'bob/second');
  await isGuarded(server, second);

  await rm(join(second, 'hooks/pre-receive'));
  await until(async () => ((await codesOf(server)).includes('hooks_replaced') ? true : null));

  await server.daemon.end();
  const third = await makeRepository(server, 'bob/third');
  await isGuarded(server, third);
  await server.start();
  await admit(server);
  await until(async () => ((await codesOf(server)).includes('hooks_replaced') ? true : null));
  t.notOk((await codesOf(server)).includes('worker_missing'));

  worker.kill('SIGTERM');
  const [code] = await once(worker, 'exit');
  t.equal(code, 0, worker.said());
  t.match(worker.said(), /the hooks are put in/);
  t.match(worker.said(), /the hooks were taken out or replaced/);
  t.notMatch(worker.said(), /internal error/);
});

t.test('a repository that the worker cannot look into is named, whenever it becomes so', async t => {
  const server = await open(t);
  const [known, closed] = [await makeRepository(server, 'alice/known'), server.path('alice/closed')];
  await must(...as('git', ['init', '-q', '--bare', closed]));
  const close = async (path: string): Promise<void> => {
    if (isRoot) await chown(path, 0, 0);
    await chmod(path, isRoot ? 0o700 : 0);
  };
  await close(closed);
  await startWorker(t, server);
  const unguarded = () =>
    until(async () => {
      const { stdout } = await server.softquota(['doctor', '--json']);
      const found: readonly { readonly code: string; readonly message: string }[] = JSON.parse(stdout);
      return found.find(({ code }) => code === 'repository_unguarded')?.message ?? null;
    });
  t.match(await unguarded(), /closed\.git has no working hooks.*EACCES/);
  await close(known);
  await until(async () => (/alice\/known\.git/.test(await unguarded()) ? true : null));
});

t.test('root is refused, with what to do', async t => {
  const server = await Server.open(t, { started: false });
  const { code, stderr } = await run(process.execPath, [launcher, 'worker', '--config', server.config]);
  t.equal(code, 77);
  t.match(stderr, /the worker does not run as root.*runuser -u git -- softquota worker/s);
});
