/** The password of Redis is in no log, no output of a command and no answer, whatever goes wrong with it. */

import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import t, { type Test } from 'tap';
import { some } from '../run-length.ts';
import { served } from '../served.ts';
import { startSingle } from '../store/redis-servers.ts';
import { fleetHost } from './fleet-hosts.ts';
import type { Server } from './server.ts';

t.setTimeout(600_000);

const canary = (what: string) => `canary-${what}-${randomBytes(12).toString('hex')}`;

/** Texts that were said, and by whom. */
class Heard {
  readonly #texts: (readonly [by: string, text: string])[] = [];

  add(by: string, text: string): void {
    this.#texts.push([by, text]);
  }

  hasNone(t: Test, secrets: readonly string[]): void {
    for (const [by, text] of this.#texts) {
      const found = secrets.filter(secret =>
        [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')].some(each =>
          text.includes(each),
        ),
      );
      t.strictSame(found, [], by);
    }
  }
}

/** All that a daemon says of itself in trouble: over its sockets, by doctor, in its log when it is over. */
async function heardOf(server: Server, heard: Heard): Promise<void> {
  for (const path of ['/api/v1/admin/quota/findings', '/api/v1/admin/quota/hosts', '/api/v1/admin/auths'])
    heard.add(path, (await server.ask('admin', path)).text);
  const body = { username: canary('user') };
  heard.add('a change', (await server.ask('admin', '/api/v1/admin/users', { body })).text);
  heard.add('/readyz', (await server.ask('gate', '/readyz')).text);
  for (const line of ['doctor', 'doctor --json', 'serve --print-config', 'host list']) {
    const { stdout, stderr } = await server.softquota(line);
    heard.add(line, stdout + stderr);
  }
  await server.stop();
  heard.add('the log', server.daemon.log);
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
    'that quotes it as not permitted': await answering(t, sent =>
      pipelined(sent, `-NOPERM ${quoted(sent)}\r\n`),
    ),
    'that takes it for a key': await answering(t, sent => pipelined(sent, '-WRONGTYPE of another type\r\n')),
    'that is none': await answering(t, sent => `HTTP/1.1 400 Bad Request ${quoted(sent)}\r\n\r\n`),
  };
  for (const [what, port] of some(Object.entries(ports), 2)) {
    await t.test(`a Redis ${what}`, async t => {
      const heard = new Heard();
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
      if (await answers) await heardOf(server, heard);
      heard.add('its end', daemon.log);
      heard.hasNone(t, [password, key]);
    });
  }
});
