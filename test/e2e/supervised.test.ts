/** The daemon under a service manager: what it tells, and that it outlives its own mistakes. */

import { join } from 'node:path';
import t from 'tap';
import { Manager } from '../service/manager.ts';
import { mayPush } from './fleet-hosts.ts';
import { Server } from './server.ts';

t.test('serve tells the service manager that it answers, reads anew, lives and stops', async t => {
  const server = await Server.open(t, { started: false });
  const manager = await Manager.open(t, join(server.folder, 'notify'));
  const daemon = await server.start({ env: { NOTIFY_SOCKET: manager.socket, WATCHDOG_USEC: '600000' } });
  t.match(await manager.told('READY=1'), ['READY=1', /^STATUS=Answers/, 'WATCHDOG=1']);
  t.match(await manager.told('WATCHDOG=1', 1), [/^STATUS=Answers/, 'WATCHDOG=1']);
  const before = manager.notices.length;
  daemon.child.kill('SIGHUP');
  await manager.told('READY=1', before);
  t.equal((await server.stop()).code, 0);
  await manager.told('STOPPING=1');
  t.equal(manager.order.at(-1), 'STOPPING=1', 'which is the last word');
  t.notMatch(daemon.log, /systemd-notify fails|does not answer/);
});

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
