/** The program by which a hook asks: what it costs, what it cannot do, and what is done where it fails. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { clientArguments } from '../../src/git/hooks/client.ts';
import type { Client } from '../../src/git/index.ts';
import { until } from '../e2e/ask.ts';
import { refused } from './gate.ts';
import { byEachClient, hooksDirectory, World } from './world.ts';

const quick = ['nc', 'socat'] as const;

/** A world whose hooks find no curl. */
async function withoutCurl(t: Test, client: Client): Promise<World> {
  const world = await World.open(t, { client });
  for (const name of ['pre-receive', 'post-receive']) {
    await world.put(name, join(world.bare, 'hooks', name), text =>
      text.replaceAll('become curl', 'become curl-that-is-not-there'),
    );
  }
  await world.configure('softquota.onError', 'deny');
  await world.commit('first');
  return world;
}

/** The names of the programs that ran while the hook did, and how many processes. */
async function programsOf(world: World, hook: string, env: Readonly<Record<string, string>>) {
  const folder = join(world.folder, 'traces');
  await mkdir(folder);
  const options = ['-ff', '-e', 'trace=execve', '-e', 'signal=none', '-o', join(folder, 'trace')];
  const { code } = await world.run('strace', [...options, join('hooks', hook)], {
    cwd: world.bare,
    env,
    input: `${'1'.repeat(40)} ${'2'.repeat(40)} refs/heads/main\n`,
  });
  const traces = await Promise.all((await readdir(folder)).map(name => readFile(join(folder, name), 'utf8')));
  const lines = traces.flatMap(trace => trace.split('\n')).filter(line => line.endsWith(' = 0'));
  const names = lines.map(line => /execve\("(?:[^"]*\/)?([^"/]+)"/.exec(line)?.[1] ?? line);
  return { code, names, processes: traces.length };
}

for (const client of quick) {
  t.test(`${client} is all that an allowed push waits for, and needs no curl`, async t => {
    const world = await withoutCurl(t, client);
    const env = { GIT_QUARANTINE_PATH: '/nonexistent' };
    const { code, names, processes } = await programsOf(world, 'pre-receive', env);
    t.equal(code, 0);
    // Beside it is what ends it if it takes too long.
    t.same(names.filter(name => name !== 'sleep').sort(), [client, 'pre-receive'].sort());
    t.ok(names.length <= 3);
    t.ok(processes <= 5, 'the shell, one that asks, the client, one that guards, and its sleep');
    t.equal(world.gate.checks.length, 1);
    t.equal((await world.push(['HEAD:main'])).code, 0);
    await world.gate.heard(1);
    world.gate.answer = refused('Quota exceeded.\n');
    await world.commit('second');
    const push = await world.push(['HEAD:main']);
    t.equal(push.code, 1);
    t.equal(World.said(push), 'Quota exceeded.');
  });

  t.test(`${client} asks as installation tried it`, async t => {
    const hook = await readFile(new URL('pre-receive', hooksDirectory), 'utf8');
    const words = clientArguments[client]('$socket').map(word => (word.includes('$') ? `"${word}"` : word));
    t.ok(hook.includes(`set -- ${client} ${words.join(' ')}`));
  });

  t.test(`an answer that comes byte by byte ends in time, by ${client}`, async t => {
    const world = await withoutCurl(t, client);
    const path = join(world.folder, 'slow.sock');
    const server = createServer({ allowHalfOpen: true }, socket => {
      socket.on('error', () => {});
      const timer = setInterval(() => socket.write('H'), 20);
      socket.once('close', () => clearInterval(timer));
    });
    await once(server.listen(path), 'listening');
    t.teardown(() => void server.close());
    await world.configure('softquota.socket', path);
    await world.configure('softquota.timeout', '0.5');
    const push = await world.push(['HEAD:main']);
    t.equal(push.code, 1);
    t.match(World.said(push), /could not be checked/);
    t.ok(push.elapsedMs < 10_000, 'in good time');
  });

  t.test(`where ${client} is gone, or is another program, curl asks`, async t => {
    const world = await World.open(t, { client });
    world.gate.answer = refused('Quota exceeded.\n');
    const other = join(world.folder, 'other');
    await world.script(other, '#!/bin/sh\necho "invalid option -- U" >&2\nexit 1\n');
    for (const program of ['gone-that-is-not-there', other, 'true']) {
      await world.put('pre-receive', join(world.bare, 'hooks/pre-receive'), text =>
        text.replace(`set -- ${client} `, `set -- ${program} `),
      );
      await world.commit(program);
      const push = await world.push(['HEAD:main']);
      t.equal(push.code, 1);
      t.equal(World.said(push), 'Quota exceeded.', program);
    }
    t.equal(world.gate.checks.length, 3);
  });

  t.test(`an answer in pieces is put together by curl, asked by ${client}`, async t => {
    const world = await World.open(t, { client });
    world.gate.answer = response => {
      response.writeHead(413, { 'X-Softquota-Decision': 'refused', 'Transfer-Encoding': 'chunked' });
      response.end('Quota exceeded.\n');
    };
    await world.commit('first');
    t.equal(World.said(await world.push(['HEAD:main'])), 'Quota exceeded.');
    t.equal(world.gate.checks.length, 2);
  });
}

byEachClient('a push ends where TERM is ignored', async (t, client) => {
  const world = await World.open(t, { client });
  await world.configure('softquota.timeout', '60');
  await world.commit('first');
  const push = await world.run('sh', ['-c', "trap '' TERM; exec git push origin HEAD:main"], {
    cwd: world.work,
  });
  t.equal(push.code, 0);
  t.ok(push.elapsedMs < 30_000);
});

byEachClient('whatever a parameter holds, the gate is given it', async (t, client) => {
  const world = await World.open(t);
  await writeFile(world.hookConf, `socket=${world.gate.socket}\nclient=${client}\n`);
  const upload = join(world.folder, 'upload');
  await world.put('upload', upload);
  const owners = [
    'alice',
    'a b',
    'a&b=c+d%41',
    "it's (a) [b] #1, @c: d!\\",
    'jürgen',
    'a\nb',
    '*?{}|<>^`"$;~',
    '%',
  ];
  for (const owner of owners) {
    const { code, stderr } = await world.run(upload, [owner, 'size:git:lfs', '10'], { cwd: '/' });
    t.same({ code, stderr }, { code: 0, stderr: '' });
  }
  t.same(
    world.gate.checks.map(({ parameters }) => [...parameters]),
    owners.map(owner => [
      ['owner', owner],
      ['subject', 'size:git:lfs'],
      ['size', '10'],
    ]),
  );
});

/** Answers one check, and stops itself. */
const stopping = `
  require('node:http').createServer((request, response) => {
    const { url } = request;
    response.writeHead(url.startsWith('/v1/check') ? 200 : 202, { 'X-Softquota-Decision': 'allowed', 'Content-Length': 0 });
    response.end(() => {
      if (url.startsWith('/v1/check')) process.kill(process.pid, 'SIGSTOP');
      else console.log(url);
    });
  }).listen(process.argv[1], () => console.log('ready'));
`;

byEachClient('a push ends while nobody takes what post-receive tells', async (t, client) => {
  const world = await World.open(t, { client });
  const socket = join(world.folder, 'stopping.sock');
  const daemon = spawn(process.execPath, ['-e', stopping, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => void daemon.kill('SIGKILL'));
  await once(daemon.stdout, 'data');
  await world.configure('softquota.socket', socket);
  await world.commit('first');
  // It ends once every process has let go of its output.
  t.equal((await world.push(['HEAD:main'])).code, 0);
  const behind = await until(async () => {
    const found = await processesIn(world.bare);
    return found.some(({ name }) => name === client) ? found : null;
  });
  for (const { descriptors } of behind) {
    t.same(
      descriptors.filter(aim => !/^\/dev\/null$|^socket:|^pipe:|\/hooks\/post-receive$|^\/proc\//.test(aim)),
      [],
    );
  }
  const told = once(daemon.stdout, 'data');
  daemon.kill('SIGCONT');
  t.match(String((await told)[0]), /^\/v1\/changed/);
  await until(async () => ((await processesIn(world.bare)).length === 0 ? true : null));
});

/** The processes whose working directory it is, and what their descriptors lead to. */
async function processesIn(directory: string) {
  const found: { readonly name: string; readonly descriptors: readonly string[] }[] = [];
  for (const pid of (await readdir('/proc')).filter(name => /^\d+$/.test(name))) {
    try {
      if ((await readlink(`/proc/${pid}/cwd`)) !== directory) continue;
      const name = (await readFile(`/proc/${pid}/comm`, 'utf8')).trim();
      const numbers = await readdir(`/proc/${pid}/fd`);
      const descriptors = await Promise.all(numbers.map(fd => readlink(`/proc/${pid}/fd/${fd}`)));
      found.push({ name, descriptors });
    } catch {
      // It ended meanwhile.
    }
  }
  return found;
}
