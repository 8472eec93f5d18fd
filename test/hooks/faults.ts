/**
 * A daemon that is away, slow, stopped or talks nonsense: the hook does what it is told to, in time, in one
 * line.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Client } from '../../src/git/index.ts';
import { type Answer, plain, silent } from './gate.ts';
import { World } from './world.ts';

const checked = 'softquota: the quota could not be checked';

interface Fault {
  readonly name: string;
  /** What the line says in brackets. */
  readonly why: string;
  arrange(t: Test, world: World): Promise<void>;
}

function answering(name: string, why: string, answer: Answer): Fault {
  return {
    name,
    why,
    arrange: async (_, world) => {
      world.gate.answer = answer;
    },
  };
}

/** A server that says these bytes to whoever comes, and then does `next` with the connection. */
function talking(name: string, why: string, says: string, next: (socket: Socket) => void): Fault {
  return {
    name,
    why,
    arrange: async (t, world) => {
      const path = join(world.folder, 'nonsense.sock');
      const server = createServer(socket => {
        socket.on('error', () => {});
        socket.once('data', () => {
          socket.write(says);
          next(socket);
        });
      });
      await new Promise<void>(resolve => server.listen(path, resolve));
      t.teardown(() => void server.close());
      await world.configure('softquota.socket', path);
    },
  };
}

const faults: readonly Fault[] = [
  {
    name: 'nobody at the socket',
    why: 'the daemon does not answer',
    arrange: async (_, world) => void (await world.configure('softquota.socket', '/nonexistent/gate.sock')),
  },
  {
    name: 'a socket path that is too long for the system',
    why: 'the daemon does not answer',
    arrange: async (_, world) => void (await world.configure('softquota.socket', `/${'x'.repeat(200)}`)),
  },
  {
    name: 'a stopped daemon',
    why: 'no answer within 0.5 s',
    arrange: async (t, world) => {
      const path = join(world.folder, 'stopped.sock');
      const listen = 'require("http").createServer().listen(process.argv[1], () => console.log("ready"))';
      const child = spawn(process.execPath, ['-e', listen, path], { stdio: ['ignore', 'pipe', 'inherit'] });
      await once(child.stdout, 'data');
      child.kill('SIGSTOP');
      t.teardown(() => void child.kill('SIGKILL'));
      await world.configure('softquota.socket', path);
    },
  },
  {
    name: 'no curl',
    why: 'curl cannot be run',
    arrange: async (_, world) => {
      await world.configure('softquota.client', 'curl');
      const without = (text: string) => text.replaceAll('become curl', 'become curl-that-is-not-there');
      await world.put('pre-receive', join(world.bare, 'hooks/pre-receive'), without);
    },
  },
  answering('a daemon that never answers', 'no answer within 0.5 s', silent),
  answering('503 and a reason', 'the answer was 503', plain(503, 'the policy was never loaded')),
  answering('400', 'the answer was 400', plain(400, '{}')),
  answering('413 without a decision', 'the answer was 413', plain(413, 'Payload too large')),
  answering('200 without a decision', 'the answer was 200', plain(200, 'hello')),
  answering(
    '413 that says allowed',
    'the answer was 413',
    plain(413, '', { 'X-Softquota-Decision': 'allowed' }),
  ),
  answering(
    '200 that says refused',
    'the answer was 200',
    plain(200, '', { 'X-Softquota-Decision': 'refused' }),
  ),
  answering(
    '404 that says refused',
    'the answer was 404',
    plain(404, '', { 'X-Softquota-Decision': 'refused' }),
  ),
  answering('an unknown decision', 'the answer was 200', plain(200, '', { 'X-Softquota-Decision': 'maybe' })),
  answering('a redirect', 'the answer was 302', plain(302, '', { Location: 'http://localhost/' })),
  answering(
    'a decision in the body',
    'the answer was 500',
    plain(500, '\r\n\r\nX-Softquota-Decision: allowed\r\n'),
  ),
  talking('no HTTP', 'the daemon does not answer', 'SSH-2.0-OpenSSH_9.2\r\n', socket => socket.end()),
  talking('a connection that ends', 'the daemon does not answer', '', socket => socket.destroy()),
  talking(
    'half a head',
    'no answer within 0.5 s',
    'HTTP/1.1 200 OK\r\nX-Softquota-Decision: allowed\r\n',
    () => {},
  ),
];

/** Goes through all faults, for hooks that ask by this client. */
export function testFaults(client: Client): void {
  for (const fault of faults) {
    for (const onError of ['allow', 'deny'] as const) {
      t.test(`${fault.name}: onError = ${onError}, by ${client}`, async t => {
        const world = await World.open(t, { client });
        await fault.arrange(t, world);
        await world.configure('softquota.onError', onError);
        await world.configure('softquota.timeout', '0.5');
        await world.commit('first');
        const push = await world.push(['HEAD:main']);
        const [code, end] =
          onError === 'allow'
            ? [0, 'so this push is allowed.']
            : [1, 'so this push is refused. Try again later.'];
        t.equal(push.code, code);
        t.equal(World.said(push), `${checked} (${fault.why}), ${end}`);
        t.equal((await world.refs()) === '', onError === 'deny');
        t.ok(push.elapsedMs < 5000, 'in good time');
      });
    }
  }
}
