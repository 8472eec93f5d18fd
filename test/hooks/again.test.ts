/** Connections that are refused, reset or closed without an answer are tried again until the time is over. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { until } from '../e2e/ask.ts';
import { byEachClient, World, type WorldOptions } from './world.ts';

const refusal =
  'HTTP/1.1 413 Content Too Large\r\nX-Softquota-Decision: refused\r\nContent-Length: 5\r\n\r\nfull\n';

/** A world whose hook asks at a socket of the test's own, and tells each pause it makes. */
async function pausing(
  t: Test,
  options: WorldOptions & {
    readonly sleep?: string;
    /** Tells also how long a program other than curl may take. */
    readonly guard?: boolean;
  } = {},
) {
  const world = await World.open(t, options);
  const socket = join(world.folder, 'own.sock');
  const pauses = join(world.folder, 'pauses');
  await writeFile(pauses, '');
  const sleep = join(world.folder, 'sleep');
  await world.script(sleep, `#!/bin/sh\necho "$1" >>${pauses}\n${options.sleep ?? 'exec sleep "$1"'}\n`);
  const starts = options.guard === true ? 'become' : '(become';
  await world.put('pre-receive', join(world.bare, 'hooks/pre-receive'), text =>
    text.replaceAll(`${starts} sleep`, `${starts} ${sleep}`),
  );
  await world.configure('softquota.socket', socket);
  await world.configure('softquota.onError', 'deny');
  await world.configure('softquota.timeout', '30');
  await world.commit('first');
  return {
    world,
    socket,
    sleep,
    push: async () => {
      const push = await world.push(['HEAD:main']);
      return { code: push.code, said: World.said(push) };
    },
    pauses: async () => (await readFile(pauses, 'utf8')).split('\n').slice(0, -1).map(Number),
  };
}

async function listening(t: Test, server: Server, path: string): Promise<void> {
  await new Promise<void>(resolve => server.listen(path, resolve));
  t.teardown(() => void server.close());
}

const endings: Readonly<Record<string, (socket: Socket) => void>> = {
  'closed at once': socket => socket.destroy(),
  'closed when the question has come': socket => void socket.once('data', () => socket.destroy()),
  'ended without an answer': socket => void socket.resume().end(),
};

for (const [name, end] of Object.entries(endings)) {
  for (const shell of ['/bin/dash', '/bin/bash', '/bin/busybox ash']) {
    byEachClient(`a connection that is ${name} is tried again, in ${shell}`, async (t, client) => {
      const { socket, push, pauses } = await pausing(t, { shell, client });
      let connections = 0;
      const server = createServer(each => {
        each.on('error', () => {});
        connections += 1;
        if (connections < 4) end(each);
        else each.once('data', () => each.end(refusal));
      });
      await listening(t, server, socket);
      t.same(await push(), { code: 1, said: 'full' });
      t.equal(connections, 4);
      const waited = await pauses();
      t.equal(waited.length, 3);
      t.ok(
        waited.every((pause, index) => pause > 0.09 && pause > (waited[index - 1] ?? 0)),
        'longer each time',
      );
    });
  }
}

byEachClient(
  'a socket that is not there yet, or that nobody listens at, is tried again',
  async (t, client) => {
    const { world, socket, push, pauses } = await pausing(t, { client });
    const left = createServer();
    // As a killed daemon leaves it.
    await new Promise<void>(resolve => left.listen(`${socket}.1`, resolve));
    await world.must('ln', [`${socket}.1`, socket]);
    left.close();
    const pushed = push();
    await until(async () => ((await pauses()).length > 1 ? true : null));
    await rm(socket);
    await listening(
      t,
      createServer(each => void each.once('data', () => each.end(refusal))),
      socket,
    );
    t.same(await pushed, { code: 1, said: 'full' });
  },
);

/** A stopped gate at whose socket nobody can connect any more; it refuses once it goes on. */
async function fill(t: Test, socket: string): Promise<ChildProcess> {
  const listen = `require('http').createServer((_, response) => {
    response.writeHead(413, { 'X-Softquota-Decision': 'refused' }).end('full\\n');
  }).listen({ path: process.argv[1], backlog: 1 }, () => console.log('ready'))`;
  const child = spawn(process.execPath, ['-e', listen, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  child.kill('SIGSTOP');
  const crowd: Socket[] = [];
  t.teardown(() => {
    for (const each of crowd) each.destroy();
  });
  const joins = async (): Promise<boolean> => {
    const each = connect(socket);
    crowd.push(each);
    return once(each, 'connect').then(
      () => true,
      () => false,
    );
  };
  while (await joins());
  return child;
}

byEachClient(
  'a gate whose queue of connections is full is tried again until it has room',
  async (t, client) => {
    const { world, socket, sleep, push, pauses } = await pausing(t, { client, guard: true });
    const child = await fill(t, socket);
    // curl has met the full queue once it pauses; the others wait in it, and sleep ends them.
    await world.script(
      sleep,
      `#!/bin/sh\necho "$1" >>${world.folder}/pauses\nkill -CONT ${child.pid}\nexec sleep "$1"\n`,
    );
    t.same(await push(), { code: 1, said: 'full' });
    t.ok((await pauses()).length > 0);
  },
);

byEachClient(
  'a gate whose queue of connections stays full keeps a push no longer than its time',
  async (t, client) => {
    const { world, socket, push } = await pausing(t, { client });
    await world.configure('softquota.timeout', '1');
    await fill(t, socket);
    t.match(await push(), { code: 1, said: /\((the daemon does not answer|no answer within 1 s)\)/ });
  },
);

byEachClient('a gate that has as many connections as it takes is tried again', async (t, client) => {
  const { socket, push, pauses } = await pausing(t, { client });
  const gate = createHttpServer((_, response) => {
    response.writeHead(413, { 'X-Softquota-Decision': 'refused' }).end('full\n');
  });
  gate.maxConnections = 1;
  const idle: Socket[] = [];
  gate.on('connection', each => idle.push(each));
  let dropped = 0;
  gate.on('drop', () => {
    dropped += 1;
    if (dropped === 3) for (const each of idle) each.destroy();
  });
  await new Promise<void>(resolve => gate.listen(socket, resolve));
  t.teardown(() => void gate.close());
  const first = connect(socket);
  t.teardown(() => void first.destroy());
  await once(gate, 'connection');
  t.same(await push(), { code: 1, said: 'full' });
  t.equal((await pauses()).length, 3);
});

byEachClient('the time-out is the bound of all tries together', async (t, client) => {
  const { world, push, pauses } = await pausing(t, { client });
  await world.configure('softquota.timeout', '1');
  t.match(await push(), { code: 1, said: /\(the daemon does not answer\), so this push is refused/ });
  const waited = await pauses();
  t.ok(waited.length >= 2, `${waited}`);
  t.ok(waited.reduce((sum, each) => sum + each, 0) < 1, `${waited}`);
});

t.test('where sleep takes whole seconds only, it waits one', async t => {
  const { world, push, pauses } = await pausing(t, {
    sleep: 'case $1 in *.*) exit 1 ;; esac',
  });
  await world.configure('softquota.timeout', '2');
  t.match(await push(), { code: 1, said: /the daemon does not answer/ });
  const waited = await pauses();
  t.same(waited.filter(each => each === 1).length, waited.length / 2);
  t.ok(waited.length <= 4, 'and counts it');
});

byEachClient('a try that hangs has what is left of the time', async (t, client) => {
  const { world, socket, push } = await pausing(t, { client });
  await world.configure('softquota.timeout', '1');
  let connections = 0;
  const server = createServer(each => {
    each.on('error', () => {});
    connections += 1;
    if (connections === 1) each.destroy();
  });
  await listening(t, server, socket);
  t.match(await push(), { code: 1, said: /\(no answer within 1 s\)/ });
  t.equal(connections, 2);
});

for (const [name, answer] of [
  ['503', 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n'],
  ['half a head', 'HTTP/1.1 200 OK\r\n'],
  ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
] as const) {
  byEachClient(`once something was answered, here ${name}, nothing is tried again`, async (t, client) => {
    const { socket, push, pauses } = await pausing(t, { client });
    let connections = 0;
    const server = createServer(each => {
      each.on('error', () => {});
      connections += 1;
      each.once('data', () => each.write(answer, () => each.destroy()));
    });
    await listening(t, server, socket);
    t.match(await push(), { code: 1, said: /could not be checked/ });
    t.equal(connections, 1);
    t.same(await pauses(), []);
  });
}

byEachClient('what post-receive tells is tried again, too, behind the push', async (t, client) => {
  const world = await World.open(t, { client });
  const socket = join(world.folder, 'own.sock');
  await world.configure('softquota.socket', socket);
  await world.commit('first');
  const { promise: told, resolve } = Promise.withResolvers<string>();
  let changes = 0;
  const server = createServer(each => {
    each.on('error', () => {});
    each.once('data', data => {
      if (data.includes('/v1/check')) {
        each.end('HTTP/1.1 200 OK\r\nX-Softquota-Decision: allowed\r\nContent-Length: 0\r\n\r\n');
      } else {
        changes += 1;
        if (changes < 3) return void each.destroy();
        each.end('HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n');
        resolve(String(data));
      }
    });
  });
  await listening(t, server, socket);
  t.equal((await world.push(['HEAD:main'])).code, 0);
  t.match(await told, /^POST \/v1\/changed /);
});
