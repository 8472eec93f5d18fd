/** Stores and files that a daemon does not start on, and leaves as they are. */

import { existsSync, statSync } from 'node:fs';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t from 'tap';
import { ask, until } from '../e2e/ask.ts';
import { Clone } from '../e2e/clone.ts';
import { Server } from '../e2e/server.ts';

t.test('a damaged database is refused with 78, named, and not touched', async t => {
  const server = await Server.open(t);
  await server.stop();
  const file = join(server.folder, 'data', 'softquota.db');
  const handle = await open(file, 'r+');
  await handle.write(Buffer.alloc(3000, 'x'), 0, 3000, 0);
  await handle.close();
  const before = await readFile(file);
  const refused = await server.startInVain();
  t.equal(refused.code, 78);
  t.ok(refused.log.includes(file), refused.log);
  t.ok(before.equals(await readFile(file)), 'it is left as it was');
  t.notOk(existsSync(server.socket('gate')), 'and nobody was served');
});

t.test('a database of a newer version is refused with 78, named, and not touched', async t => {
  const server = await Server.open(t);
  await server.stop();
  const file = join(server.folder, 'data', 'softquota.db');
  const database = new DatabaseSync(file);
  database.exec('PRAGMA user_version = 999');
  database.close();
  const before = await readFile(file);
  const refused = await server.startInVain();
  t.equal(refused.code, 78);
  t.match(refused.log, /newer/);
  t.ok(before.equals(await readFile(file)), 'it is left as it was');
});

t.test(
  'a second daemon on the same DATA_PATH or the same socket is refused, and the first goes on',
  async t => {
    const server = await Server.open(t, { repositories: ['alice/app'] });
    const second = await server.startInVain();
    t.equal(second.code, 78);
    const other = await Server.open(t, {
      started: false,
      ini: { server: { SOCKET: server.socket('gate') } },
    });
    const third = await other.startInVain();
    t.equal(third.code, 78);
    t.match(third.log, /\[server\] SOCKET = .*another process uses it/);
    t.ok(server.daemon.isRunning);
    const clone = await Clone.of(server, server.path('alice/app'));
    await clone.commit(1_500_000);
    t.match(await clone.push(), { code: 0, said: '' });
    await server.usageIs('alice', used => used > 1_500_000);
    await clone.commit(1);
    t.equal((await clone.push()).code, 1);
  },
);

t.test('the socket of a dead daemon is replaced, and something that is no socket is not', async t => {
  const server = await Server.open(t);
  await server.stop('SIGKILL');
  t.ok(statSync(server.socket('gate')).isSocket(), 'it was left');
  await server.start();
  t.equal(statSync(server.socket('gate')).mode & 0o777, 0o660);
  t.equal(statSync(server.socket('trusted')).mode & 0o777, 0o600);
  t.equal(statSync(server.socket('admin')).mode & 0o777, 0o600);
  await server.stop();
  await rm(server.socket('gate'), { force: true });
  await writeFile(server.socket('gate'), 'precious');
  t.equal((await server.startInVain()).code, 78);
  t.equal(await readFile(server.socket('gate'), 'utf8'), 'precious');
});

t.test('a socket path that the system would cut is refused with its limit', async t => {
  const server = await Server.open(t, { started: false });
  await server.configure({ server: { SOCKET: join(server.folder, 'x'.repeat(120)) } });
  const refused = await server.startInVain();
  t.equal(refused.code, 78);
  t.match(refused.log, /\[server\] SOCKET .* this system takes 107/);
});

t.test('sockets that systemd hands over are taken, by their names', async t => {
  const server = await Server.open(t, { started: false });
  const folder = await mkdtemp(join(tmpdir(), 'sq-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const [gate, trusted] = [join(folder, 'gate'), join(folder, 'trusted')];
  const handOver = ['systemd-socket-activate', '-l', gate, '-l', trusted, '--fdname=gate:trusted'];
  const daemon = server.startOnDemand({ through: handOver });
  // It is started by the first who asks, and answers that one too.
  const first = await until(() => ask(gate, '/healthz').catch(() => null));
  t.equal(first.status, 200);
  const usage = await ask(trusted, '/v1/usage?owner=alice');
  t.equal(usage.status, 200);
  t.equal((await ask(gate, '/v1/usage?owner=alice')).status, 403, 'each with its own trust');
  t.notOk(existsSync(server.socket('gate')), 'none is made beside');
  t.ok(existsSync(server.socket('admin')), 'what was not handed over is made');
  t.equal((await daemon.end()).code, 0);
});
