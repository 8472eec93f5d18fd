/** A serving daemon outlives every event of the network, of a disk or of somebody who reads along. */

import { once } from 'node:events';
import t from 'tap';
import { until } from './ask.ts';
import { mayPush } from './fleet-hosts.ts';
import { Server } from './server.ts';

t.setTimeout(120_000);

t.test('a fault that nobody waited for is in the log, and the daemon goes on', async t => {
  const server = await Server.open(t, { started: false, repositories: ['alice/app'] });
  // At a signal something rejects of which nobody asks what became of it.
  const missed = "process.on('SIGUSR2', () => void Promise.reject(new Error('a missed fault')));";
  const daemon = await server.start({
    env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(missed)}` },
  });
  daemon.child.kill('SIGUSR2');
  const line = await daemon.logged(/internal error/);
  t.match(line, { level: 50, err: { message: 'a missed fault' } });
  t.ok(await mayPush(server, 'alice'));
  t.ok(daemon.isRunning);
});

t.test('a daemon whose log nobody reads any more goes on, also when it is told to read app.ini', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'] });
  const { child } = server.daemon;
  const { stderr } = child;
  if (stderr === null) throw new Error('a pipe was asked for');
  const closed = once(stderr, 'close');
  stderr.destroy();
  await closed;
  // A note about it goes to standard error.
  await server.configure({
    'storage.lfs': { PATH: null, OWNER: 'fixed bob' },
    'quota.default': { TOTAL: '0' },
  });
  child.kill('SIGHUP');
  await until(async () => ((await mayPush(server, 'alice')) ? null : true));
  t.ok(server.daemon.isRunning);
});
