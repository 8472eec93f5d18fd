/** A daemon that is away, slow, stopped or talks nonsense: the hook does what onError says, in time, in one line. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Gate, plain, silent } from './gate.ts';
import { byEachClient, creates, World } from './world.ts';

// Most of them wait for the end of the hook's time.
t.jobs = 8;

const checked = 'softquota: the quota could not be checked';
const passes = `${checked}, so this push is allowed.\n`;
const stops = `${checked}, so this push is refused. Try again later.\n`;

/** A server in the gate's place that does this with each connection. */
async function behaving(t: Test, world: World, behave: (socket: Socket) => void): Promise<Server> {
  await world.gate.close();
  const server = createServer(socket => {
    socket.on('error', () => {});
    behave(socket);
  });
  await new Promise<void>(resolve => server.listen(world.gate.socket, resolve));
  t.teardown(() => void server.close());
  return server;
}

type Fault = (t: Test, world: World) => Promise<unknown>;

const faults: Readonly<Record<string, Fault>> = {
  'nobody at the socket': (_, world) => world.gate.close(),
  'a daemon that takes the question and never answers': async (_, world) => {
    world.gate.answer = silent;
  },
  'a daemon that closes each connection': (t, world) => behaving(t, world, socket => socket.destroy()),
  'an answer that comes byte by byte': (t, world) =>
    behaving(t, world, socket => {
      const timer = setInterval(() => socket.write('H'), 200);
      socket.on('close', () => clearInterval(timer));
    }),
  'no HTTP': (t, world) => behaving(t, world, socket => socket.end('SSH-2.0-OpenSSH\r\n')),
  'a fault of the daemon': async (_, world) => {
    world.gate.answer = plain(503, 'a long page about it\n');
  },
};

for (const [name, arrange] of Object.entries(faults)) {
  byEachClient(`${name}: onError decides, within its time`, async (t, client) => {
    const world = await World.open(t, { client });
    await arrange(t, world);
    const decide = async (onError: 'allow' | 'deny' | 'last') => {
      const file = join(world.folder, onError, 'pre-receive');
      await world.put('pre-receive', file, { ...world.settings, onError });
      const { code, stderr, elapsedMs } = await world.hook(creates(), {}, file);
      t.ok(elapsedMs < 8000, `${elapsedMs} ms`);
      return { code, stderr };
    };
    const [allow, deny, last] = await Promise.all([decide('allow'), decide('deny'), decide('last')]);
    t.same(allow, { code: 0, stderr: passes });
    t.same(deny, { code: 1, stderr: stops });
    t.same(last, { code: 0, stderr: passes });
  });
}

byEachClient('a full queue of connections keeps a push no longer than its time', async (t, client) => {
  const world = await World.open(t, { client, onError: 'deny' });
  await world.gate.close();
  const code = `require('net').createServer(()=>{}).listen({path:process.argv[1],backlog:1},()=>process.kill(process.pid,'SIGSTOP'))`;
  const child = spawn(process.execPath, ['-e', code, world.gate.socket], { stdio: 'ignore' });
  t.teardown(() => void child.kill('SIGKILL'));
  const sockets: Socket[] = [];
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
  });
  // A connection for which there is no room gets EAGAIN, where it may not wait as a program's does.
  for (let full = false; !full; ) {
    const socket = connect(world.gate.socket);
    sockets.push(socket);
    full = await once(socket, 'connect').then(
      () => false,
      error => error.code === 'EAGAIN',
    );
  }
  const { code: status, elapsedMs } = await world.hook(creates());
  t.equal(status, 1);
  t.ok(elapsedMs < 7500, `${elapsedMs} ms`);
});

byEachClient('a daemon that starts meanwhile gets the question', async (t, client) => {
  const world = await World.open(t, { client, onError: 'deny' });
  await world.gate.close();
  const asking = world.hook(creates());
  const back = await new Promise<Gate>(resolve =>
    setTimeout(() => resolve(Gate.open(world.gate.socket)), 700),
  );
  t.teardown(() => back.close());
  t.match(await asking, { code: 0, stderr: '' });
  t.equal(back.pushes().length, 1);
});

byEachClient('where the program that asks is gone, the push is refused', async (t, client) => {
  const world = await World.open(t, { client, onError: 'allow' });
  const file = join(world.folder, 'pre-receive');
  const gone = { nc: /nc -U/, curl: /curl -q/ }[client];
  await world.put('pre-receive', file);
  const text = await readFile(file, 'utf8');
  await world.script(
    file,
    text.replace(gone, found => found.replace(client, 'no-such-program')),
  );
  t.match(await world.hook(creates(), {}, file), {
    code: 1,
    stderr:
      'softquota: the program that asks cannot be run, so this push is refused. Please tell the administrator.\n',
  });
});

byEachClient('an account that may not use the socket is told so, and onError decides', async (t, client) => {
  const world = await World.open(t, { client });
  await chmod(world.folder, 0o755);
  await chmod(world.gate.socket, 0o660);
  const asNobody = (file: string, ...args: readonly string[]) =>
    world.run('setpriv', ['--reuid=nobody', '--regid=nogroup', '--clear-groups', file, ...args], {
      cwd: world.bare,
      input: creates(),
    });
  const said = 'softquota: this account may not ask about the quota';
  const upload = join(world.folder, 'upload');
  await world.put('upload', upload);
  const [push, other] = await Promise.all([
    asNobody('hooks/pre-receive'),
    asNobody(upload, 'alice', 'size:git:lfs'),
  ]);
  t.match(push, { code: 0, stderr: `${said}, so this push is allowed.\n` });
  t.match(other, { code: 0, stderr: /could not be checked \(this account may not ask\), so this upload is/ });
  await world.install({ onError: 'deny' });
  t.match(await asNobody('hooks/pre-receive'), {
    code: 1,
    stderr: `${said}, so this push is refused. Try again later.\n`,
  });
  t.equal(world.gate.pushes().length, 0);
});

/** A world without a daemon, with a list as it publishes it. */
async function listed(t: Test, line = '', repository = 'alice/app.git') {
  const world = await World.open(t, { bare: repository });
  await world.gate.close();
  const file = world.gate.socket.replace(/\.sock$/, '.refused');
  const words = 'Quota exceeded: alice uses 12.4 GB of 10 GB (124 %).';
  await writeFile(
    file,
    `softquota refused\t1\t2026-11-21T09:14:03Z\tCASE=fold\n${line || `path\t${world.bare}\t${words}\n`}`,
  );
  const hook = (env = {}, path?: string) => world.hook(creates(), env, path);
  const said = `${checked}. Last known: ${words}\n`;
  return { world, file, hook, said };
}

t.test('last: what was refused in the daemon’s last list stays refused, in the same words', async t => {
  const { hook, said } = await listed(t);
  t.match(await hook(), { code: 1, stderr: said });
  t.match(await hook({ GL_REPOSITORY: 'project-1' }), { code: 1, stderr: `GL-HOOK-ERR: ${said}` });
});

t.test('last: an old list, a future one, one that others may write, and no file count as none', async t => {
  const { world, file, hook } = await listed(t);
  const soon = new Date(Date.now() + 3600_000);
  await utimes(file, soon, soon);
  t.match(await hook(), { code: 0, stderr: passes }, 'a clock that was set back');
  const old = new Date(Date.now() - 25 * 3600_000);
  await utimes(file, old, old);
  t.match(await hook(), { code: 0, stderr: passes });
  const longer = join(world.folder, 'longer/pre-receive');
  await world.put('pre-receive', longer, { ...world.settings, lastFor: 26 * 60 });
  t.match(await hook({}, longer), { code: 1 });
  const now = new Date();
  await utimes(file, now, now);
  for (const mode of [0o664, 0o646]) {
    await chmod(file, mode);
    t.match(await hook(), { code: 0, stderr: passes });
  }
  await chmod(file, 0o644);
  await rename(file, `${file}.real`);
  await symlink(`${file}.real`, file);
  t.match(await hook(), { code: 0, stderr: passes }, 'a link');
  await rm(file);
  t.match(await hook(), { code: 0, stderr: passes });
});

t.test('last: a path is compared as it is', async t => {
  for (const name of ['a.b', 'a*b', '$(touch x)', 'a b', '-n']) {
    const { world, hook } = await listed(t, '', `alice/${name}.git`);
    t.match(await hook(), { code: 1 }, name);
    await writeFile(
      world.gate.socket.replace(/\.sock$/, '.refused'),
      `path\t${world.bare}x\tno\npath\t/x${world.bare}\tno\nowner\talice\tsize:git:lfs\tno\n`,
    );
    t.match(await hook(), { code: 0, stderr: passes }, name);
  }
  const { hook } = await listed(t, 'path\t/srv/git/bob/app.git\tno\n', 'alice/a\npath\t/srv/git/bob/app.git');
  t.match(await hook(), { code: 0, stderr: passes }, 'a line break in a name finds no line of others');
});

t.test('last: from a linked worktree and a snapshot of Gitaly the repository is looked up', async t => {
  const { world, said } = await listed(t);
  const worktree = join(world.bare, 'worktrees/deploy');
  await world.script(join(worktree, 'commondir'), '../..\n');
  const input = creates();
  t.match(await world.run('../../hooks/pre-receive', [], { cwd: worktree, input }), {
    code: 1,
    stderr: said,
  });
  const gitaly = await listed(t, '', 'storage/+gitaly/snapshots/12/34/@hashed/aa/bb/x.git');
  const unit = join(gitaly.world.folder, 'storage/@hashed/aa/bb/x.git');
  await writeFile(gitaly.file, `path\t${unit}\tno\n`);
  t.match(await gitaly.hook(), { code: 1, stderr: `${checked}. Last known: no\n` });
});

t.test('without find nobody can tell what was published, so the push is refused', async t => {
  const { world, hook } = await listed(t, 'path\t/other\tno\n');
  const file = join(world.bare, 'hooks/pre-receive');
  await world.script(file, (await readFile(file, 'utf8')).replaceAll('own find', 'own no-such-find'));
  t.match(await hook(), { code: 1, stderr: /find cannot be run, so this push is refused/ });
});
