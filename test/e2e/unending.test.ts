/** A serving daemon outlives its own mistakes. */

import t from 'tap';
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
