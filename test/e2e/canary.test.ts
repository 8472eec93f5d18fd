/** The password of Redis is in no log, no output of a command and no answer, whatever goes wrong with it. */

import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import t, { type Test } from 'tap';
import { served } from '../served.ts';
import { startSingle } from '../store/redis-servers.ts';
import { fleetHost } from './fleet-hosts.ts';
import type { Server } from './server.ts';

t.setTimeout(600_000);

const canary = (what: string) => `canary-${what}-${randomBytes(12).toString('hex')}`;

/** Texts by who said them. */
type Heard = Record<string, string>;

/** All that a daemon says of itself in trouble, over its sockets and by commands; it is stopped then. */
async function heardOf(server: Server): Promise<Heard> {
  const heard: Heard = {};
  for (const path of ['/api/v1/admin/quota/findings', '/api/v1/admin/quota/hosts', '/api/v1/admin/auths'])
    heard[path] = (await server.ask('admin', path)).text;
  const body = { username: canary('user') };
  heard['a change'] = (await server.ask('admin', '/api/v1/admin/users', { body })).text;
  heard['/readyz'] = (await server.ask('gate', '/readyz')).text;
  for (const line of ['doctor', 'doctor --json', 'serve --print-config', 'host list']) {
    const { stdout, stderr } = await server.softquota(line);
    heard[line] = stdout + stderr;
  }
  await server.stop();
  return heard;
}

/** A server that is taken for Redis, and answers each piece that comes by these words. */
async function answering(t: Test, words: (sent: string) => string): Promise<number> {
  const server = createServer(socket => {
    socket.on('error', () => {}).on('data', data => socket.write(words(data.toString())));
  });
  return served(t, server);
}

/** The arguments of the commands that came, on one line. */
const quoted = (sent: string) =>
  sent
    .split('\r\n')
    .filter(part => part !== '' && !/^[*$]/.test(part))
    .map(part => `'${part}'`)
    .join(' ');

const pipelined = (sent: string, answer: string) => answer.repeat(sent.match(/^\*\d+\r$/gm)?.length ?? 1);

t.test('the password of Redis is told nowhere, whatever Redis makes of it', async t => {
  const password = canary('redis');
  const key = canary('secret-key-that-is-long-enough');
  const refusing = await startSingle(t, '--requirepass', 'another');
  const ports = {
    'that wants another password': refusing.servers[0].port,
    'that is not there': 2,
    'that does not know AUTH, and quotes what came': await answering(t, sent =>
      pipelined(sent, `-ERR unknown command 'AUTH', with args beginning with: ${quoted(sent)}\r\n`),
    ),
    'that quotes the password as wrong': await answering(t, sent =>
      pipelined(sent, `-WRONGPASS not let in by ${quoted(sent)}\r\n`),
    ),
    'that is none': await answering(t, sent => `HTTP/1.1 400 Bad Request ${quoted(sent)}\r\n\r\n`),
  };
  for (const [what, port] of Object.entries(ports)) {
    await t.test(`a Redis ${what}`, async t => {
      const address = `redis://somebody:${password}@127.0.0.1:${port}/0`;
      const server = await fleetHost(t, {
        address,
        host: 'one',
        started: false,
        ini: { log: { LEVEL: 'trace' }, security: { SECRET_KEY: key } },
      });
      const daemon = server.startOnDemand({});
      const answers = daemon.logged(/^softquota answers/).then(
        () => true,
        () => false,
      );
      const heard = (await answers) ? await heardOf(server) : {};
      const written = [password, key].flatMap(secret => [
        secret,
        encodeURIComponent(secret),
        Buffer.from(secret).toString('base64'),
      ]);
      for (const [by, text] of Object.entries({ ...heard, 'the log': daemon.log }))
        t.strictSame(
          written.filter(each => text.includes(each)),
          [],
          by,
        );
    });
  }
});
