/** Sockets that a service manager hands over. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { inheritedSockets, listen } from '../../src/service/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const child = join(import.meta.dirname, 'listening-child.ts');

t.test('each socket is known by its name, and no child is told of them again', async t => {
  const env: NodeJS.ProcessEnv = {
    LISTEN_PID: '7',
    LISTEN_FDS: '3',
    LISTEN_FDNAMES: 'admin:gate:trusted',
    HOME: '/',
  };
  t.strictSame(
    [...inheritedSockets(env, 7)],
    [
      ['admin', 3],
      ['gate', 4],
      ['trusted', 5],
    ],
  );
  t.strictSame(env, { HOME: '/' });
});

t.test('a single socket is the gate, whatever its name; those of another process are none', async t => {
  for (const LISTEN_FDNAMES of ['softquota.socket', '', 'unknown', undefined]) {
    t.strictSame(
      [
        ...inheritedSockets(
          { LISTEN_PID: '7', LISTEN_FDS: '1', ...(LISTEN_FDNAMES === undefined ? {} : { LISTEN_FDNAMES }) },
          7,
        ),
      ],
      [['gate', 3]],
    );
  }
  t.strictSame(
    [...inheritedSockets({ LISTEN_PID: '7', LISTEN_FDS: '1', LISTEN_FDNAMES: 'trusted' }, 7)],
    [['trusted', 3]],
  );
  t.equal(inheritedSockets({}, 7).size, 0);
  t.equal(inheritedSockets({ LISTEN_PID: '8', LISTEN_FDS: '1' }, 7).size, 0);
  t.equal(inheritedSockets({ LISTEN_PID: '7', LISTEN_FDS: '0' }, 7).size, 0);
});

t.test('names that do not tell sockets apart are a fault', async t => {
  const given = (LISTEN_FDS: string, LISTEN_FDNAMES: string) => () =>
    inheritedSockets({ LISTEN_PID: '7', LISTEN_FDS, LISTEN_FDNAMES }, 7);
  t.throws(given('2', 'gate:gate'), {
    code: 'configuration',
    message: /socket 2 of 2 .* a second one named "gate"/,
  });
  t.throws(given('2', 'gate:other'), {
    message: /named "other": set FileDescriptorName= to gate, trusted or admin/,
  });
  t.throws(given('2', 'gate'), { message: /named ""/ });
  t.throws(given('many', ''), { message: /LISTEN_FDS is "many"/ });
});

t.test('systemd hands over a socket, which is served and not taken away', async t => {
  const path = join(temporaryFolder(t), 's');
  const manager = spawn('systemd-socket-activate', ['-l', path, '--fdname=gate', process.execPath, child], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.teardown(() => manager.kill());
  await once(manager.stderr, 'data');
  const socket = connect(path);
  const [greeting] = await once(socket, 'data');
  t.equal(String(greeting), 'gate undefined');
  socket.end('x');
  const [status] = await once(manager, 'exit');
  t.equal(status, 0);
  t.ok(fs.statSync(path).isSocket(), 'it is the manager’s');
});

t.test('a descriptor that is no socket is a fault', async t => {
  const descriptor = fs.openSync(import.meta.filename, 'r');
  const place = { path: '/nowhere', mode: 0o600, group: null, setting: '[server] SOCKET', descriptor };
  await t.rejects(listen(createServer(), place), {
    code: 'configuration',
    message: /descriptor \d+ of the service manager cannot be used/,
  });
});

t.test('of a socket that is handed over, and whose file is gone, one of its own is made', async t => {
  const path = join(temporaryFolder(t), 'gate.sock');
  const words = ['-l', path, '--fdname=gate', process.execPath, child];
  const activated = spawn('systemd-socket-activate', words, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(activated, 'close');
  t.teardown(() => activated.kill('SIGKILL'));
  const ask = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(path, () =>
        socket.once('data', data => resolve(String(data)) ?? socket.end('x')),
      );
      socket.once('error', reject);
    });
  await once(activated.stderr, 'data');
  let complaint = '';
  activated.stderr.setEncoding('utf8').on('data', text => {
    complaint += text;
  });
  // A connection starts it; the file goes before it runs.
  const first = connect(path);
  await once(first, 'connect');
  fs.unlinkSync(path);
  // The file is there a moment before anybody listens on it.
  let said: string | null = null;
  for (; said === null; await delay(5)) said = await ask().catch(() => null);
  t.match(said, /^gate /);
  first.destroy();
  await ended;
  t.match(complaint, `renewed: ${path}\n`, 'and says so, since its rights may be others');
  t.notOk(fs.existsSync(path), 'and it goes with the daemon');
});
