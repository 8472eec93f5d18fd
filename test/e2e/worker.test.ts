/** `softquota worker` beside a daemon: as another user than root, over restarts of the daemon. */

import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { until } from './ask.ts';
import { launcher } from './daemon.ts';
import { admitGitUser, makeRepository, openForGitUser, startWorker } from './git-user.ts';
import { run } from './run.ts';
import { Server } from './server.ts';

const isGuarded = (server: Server, path: string) =>
  until(async () => {
    const { code } = await server.softquota(['hooks', 'status', '--config', server.config, path]);
    return code === 0 ? true : null;
  });

async function codesOf(server: Server): Promise<readonly string[]> {
  const { stdout } = await server.softquota('doctor --json');
  const found: readonly { readonly code: string }[] = JSON.parse(stdout);
  return found.map(({ code }) => code);
}

t.test('a new repository is guarded while nobody does anything, also after the daemon restarts', async t => {
  const server = await openForGitUser(t, { hooks: { KEEP: 'true' } });
  const first = await makeRepository(server, 'alice/first');
  const worker = await startWorker(t, server);
  await isGuarded(server, first);
  const second = await makeRepository(server, 'bob/second');
  await isGuarded(server, second);

  await rm(join(second, 'hooks/pre-receive'));
  await until(() => (/the hooks were taken out or replaced/.test(worker.said()) ? true : null));
  await isGuarded(server, second);

  await server.daemon.end();
  const third = await makeRepository(server, 'bob/third');
  await isGuarded(server, third);
  await server.start();
  await admitGitUser(server);
  t.notOk((await codesOf(server)).includes('worker_missing'));

  worker.kill('SIGTERM');
  const [code] = await once(worker, 'exit');
  t.equal(code, 0, worker.said());
  t.match(worker.said(), /the hooks are put in/);
  t.notMatch(worker.said(), /internal error/);
});

t.test('root is refused, with what to do', async t => {
  const server = await Server.open(t, { started: false });
  const { code, stderr } = await run(process.execPath, [launcher, 'worker', '--config', server.config]);
  t.equal(code, 77);
  t.match(stderr, /the worker does not run as root.*runuser -u git -- softquota worker/s);
});
