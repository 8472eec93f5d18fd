/** The daemon under a service manager: what it tells, and the sockets that it is given. */

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isLong } from '../run-length.ts';
import { Manager } from '../service/manager.ts';
import { ask, until } from './ask.ts';
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

t.test('all three sockets may be handed over, the administrator’s too', async t => {
  const server = await Server.open(t, { started: false });
  const [gate, trusted, admin] = ['gate', 'trusted', 'admin'].map(name =>
    join(server.folder, `${name}.given`),
  );
  if (gate === undefined || trusted === undefined || admin === undefined) throw new Error('three were named');
  const sockets = [gate, trusted, admin].flatMap(path => ['-l', path]);
  const daemon = server.startOnDemand({
    through: ['systemd-socket-activate', ...sockets, '--fdname=gate:trusted:admin'],
  });
  // The first who asks starts it.
  const version = await until(() => ask(admin, '/api/v1/version').catch(() => null));
  t.equal(version.status, 200);
  t.equal((await ask(admin, '/api/v1/admin/quota/usage')).status, 200, 'no token is asked for');
  t.equal((await ask(gate, '/api/v1/version')).status, 404, 'and each serves its own');
  t.equal((await ask(trusted, '/v1/usage?owner=alice')).status, 200);
  for (const name of ['gate', 'trusted', 'admin'] as const) {
    t.notOk(existsSync(server.socket(name)), `none is made beside the ${name} socket`);
  }
  t.equal((await daemon.end()).code, 0);
  t.ok(existsSync(admin), 'it is the manager’s');
});

async function socketsComeBack(t: Test): Promise<void> {
  const server = await Server.open(t);
  const names = ['gate', 'trusted', 'admin'] as const;
  const list = server.socket('gate').replace(/sock$/, 'refused');
  await until(() => (existsSync(list) ? true : null));
  for (const file of [...names.map(name => server.socket(name)), list]) rmSync(file);
  for (const name of names) {
    const address = name === 'admin' ? '/api/v1/version' : '/healthz';
    const answered = () => until(() => server.ask(name, address).catch(() => null));
    t.equal((await answered().catch(answered)).status, 200, name);
  }
  await until(() => (existsSync(list) ? true : null));
  t.match(server.daemon.log, /the socket was gone, and is made anew/);
}

// It waits for a minute.
if (isLong) {
  t.setTimeout(180_000);
  t.test('sockets whose files are gone are there again, with the list beside them', socketsComeBack);
}
