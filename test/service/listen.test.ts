/** Sockets that a server listens on: what is replaced, what is refused, and who may connect. */

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { listen, type SocketPlace, type SocketWatch } from '../../src/service/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const place = (path: string, differing: Partial<SocketPlace> = {}): SocketPlace => ({
  path,
  mode: 0o660,
  group: null,
  setting: '[server] SOCKET',
  ...differing,
});

const modeOf = (path: string) => fs.statSync(path).mode & 0o777;

function newServer(t: Test): Server {
  const server = createServer(socket => socket.destroy());
  t.teardown(() => server.close());
  return server;
}

/** The file of a daemon that was killed. */
function leaveStale(path: string): void {
  const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', script]);
}

t.test('a socket has the mode and the group that are set, and leaves with its server', async t => {
  const path = join(temporaryFolder(t), 's');
  const server = newServer(t);
  const umask = process.umask();
  await listen(server, place(path, { group: 'daemon' }));
  t.equal(modeOf(path), 0o660);
  t.equal(
    String(fs.statSync(path).gid),
    spawnSync('getent', ['group', 'daemon']).stdout.toString().split(':')[2],
  );
  t.equal(process.umask(), umask);
  await new Promise(resolve => server.close(resolve));
  t.notOk(fs.existsSync(path));
});

t.test('a group is taken by its number too', async t => {
  const path = join(temporaryFolder(t), 's');
  await listen(newServer(t), place(path, { group: '12345' }));
  t.equal(fs.statSync(path).gid, 12345);
});

t.test('until its mode is set nobody else gets in, whatever the umask', async t => {
  const path = join(temporaryFolder(t), 's');
  const server = newServer(t);
  const umask = process.umask(0);
  t.teardown(() => process.umask(umask));
  const modes: number[] = [];
  server.once('listening', () => modes.push(modeOf(path)));
  await listen(server, place(path, { mode: 0o666 }));
  t.strictSame(modes, [0o600]);
  t.equal(modeOf(path), 0o666);
});

t.test('the socket of a daemon that is no more is replaced', async t => {
  const path = join(temporaryFolder(t), 's');
  leaveStale(path);
  t.ok(fs.statSync(path).isSocket());
  await listen(newServer(t), place(path));
  await new Promise<void>((resolve, reject) => connect(path, resolve).on('error', reject));
});

t.test('a living one is refused and lives on', async t => {
  const path = join(temporaryFolder(t), 's');
  await listen(newServer(t), place(path));
  await t.rejects(listen(newServer(t), place(path)), {
    code: 'configuration',
    message: `[server] SOCKET = ${path}: another process uses it; is a daemon already running?`,
  });
  await new Promise<void>((resolve, reject) => connect(path, resolve).on('error', reject));
});

t.test('a living one that has no time to answer is refused too', async t => {
  const path = join(temporaryFolder(t), 's');
  // Takes one connection into its queue and accepts none.
  const python =
    'import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(0); print("up", flush=True); sys.stdin.read()';
  const { spawn } = await import('node:child_process');
  const busy = spawn('python3', ['-c', python, path]);
  t.teardown(() => busy.kill());
  await new Promise(resolve => busy.stdout.once('data', resolve));
  const queued: Socket[] = [];
  const isFull = () =>
    new Promise<boolean>(resolve => {
      const socket = connect(path, () => resolve(false)).on('error', () => resolve(true));
      queued.push(socket);
    });
  while (!(await isFull())) t.ok(queued.length < 100);
  t.teardown(() => queued.map(socket => socket.destroy()));
  await t.rejects(listen(newServer(t), place(path)), { message: /another process uses it/ });
  t.ok(fs.existsSync(path));
});

t.test('whatever is no socket is refused and left as it is', async t => {
  const directory = join(temporaryFolder(t), 'directory');
  fs.mkdirSync(directory);
  const server = newServer(t);
  const file = join(directory, 'file');
  fs.writeFileSync(file, 'mine');
  const link = join(directory, 'link');
  leaveStale(join(directory, 'stale'));
  fs.symlinkSync('stale', link);
  for (const path of [file, link, directory]) {
    await t.rejects(listen(server, place(path)), {
      message: /the path exists and is not a socket; it was not changed/,
    });
  }
  t.equal(fs.readFileSync(file, 'utf8'), 'mine');
  t.ok(fs.lstatSync(link).isSymbolicLink());
});

t.test('an unknown group is a fault that leaves no socket behind', async t => {
  const directory = temporaryFolder(t);
  const path = join(directory, 's');
  await t.rejects(listen(newServer(t), place(path, { group: 'no-such-group' })), {
    code: 'configuration',
    message: /^\[server\] SOCKET = .*: its group cannot be set: chgrp: invalid group: .no-such-group.$/,
  });
  await t.rejects(listen(newServer(t), place(path, { group: '--help' })), {
    message: /its group cannot be set/,
  });
  t.strictSame(fs.readdirSync(directory), []);
});

t.test('who may not give the socket to its group is told what lets them', async t => {
  const directory = temporaryFolder(t);
  fs.chownSync(directory, 4711, 4711);
  const module = new URL('../../src/service/index.ts', import.meta.url);
  const script = `import { createServer } from 'node:net';
    import { listen } from '${module}';
    process.setgroups([]);
    process.setgid(4711);
    process.setuid(4711);
    await listen(createServer(), { path: '${directory}/s', mode: 0o660, group: 'daemon', setting: '[server] SOCKET' });`;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
  t.match(String(stderr), /its group cannot be set: .*usermod --append --groups daemon USER/);
});

t.test('a directory that is not there is named', async t => {
  const path = join(temporaryFolder(t), 'missing', 's');
  await t.rejects(listen(newServer(t), place(path)), {
    code: 'configuration',
    message: /nothing can listen there: .*missing/,
  });
});

/** A watch that tells what it heard. */
function watched() {
  const heard = Promise.withResolvers<string>();
  const watch: SocketWatch = {
    everyMs: 5,
    renewed: path => heard.resolve(path),
    lost: error => heard.reject(error),
  };
  return { watch, heard: heard.promise };
}

const connected = (path: string) =>
  new Promise<void>((resolve, reject) => {
    const socket = connect(path, () => resolve(void socket.destroy())).on('error', reject);
  });

t.test('a socket whose file is gone is made anew, with its mode and group', async t => {
  const path = join(temporaryFolder(t), 's');
  const { watch, heard } = watched();
  const server = newServer(t);
  const listening = await listen(server, place(path, { group: '12345', watch }));
  await connected(path);
  fs.unlinkSync(path);
  t.equal(await heard, path);
  await connected(path);
  const { mode, gid } = fs.statSync(path);
  t.strictSame([mode & 0o777, gid], [0o660, 12345]);
  t.ok(listening.withdraw());
  t.notOk(fs.existsSync(path));
});

t.test('where the directory is gone, or another daemon listens, that is told', async t => {
  const directory = temporaryFolder(t);
  fs.mkdirSync(join(directory, 'run'));
  const path = join(directory, 'run', 's');
  const gone = watched();
  await listen(newServer(t), place(path, { watch: gone.watch }));
  fs.rmSync(join(directory, 'run'), { recursive: true });
  await t.rejects(gone.heard, { code: 'configuration', message: /nothing can listen there/ });

  const other = join(directory, 'other');
  const taken = watched();
  await listen(newServer(t), place(other, { watch: taken.watch }));
  const thief = newServer(t);
  await new Promise<void>(resolve => thief.listen(`${other}.new`, resolve));
  fs.renameSync(`${other}.new`, other);
  await t.rejects(taken.heard, { code: 'configuration', message: /another process uses it/ });
  await connected(other);
});
