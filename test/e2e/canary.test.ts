/** No secret is in the log, in what a command prints, or in an answer, whatever goes wrong with it. */

import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import t, { type Test } from 'tap';
import { some } from '../run-length.ts';
import { served } from '../served.ts';
import { startSingle } from '../store/redis-servers.ts';
import { account, addressOf } from './accounts.ts';
import { until } from './ask.ts';
import { fleetHost } from './fleet-hosts.ts';
import { Server } from './server.ts';

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

t.test('what stands in the configuration is told nowhere when it is wrong', async t => {
  const server = await Server.open(t);
  const password = canary('redis');
  const key = canary('key').slice(0, 20);
  const heard = new Heard();
  const said = async (line: string, env: Record<string, string> = {}) => {
    const { stdout, stderr } = await server.softquota(line, { env });
    heard.add(line, stdout + stderr);
  };
  for (const to of [`redis://:${password}@127.0.0.1:2/0`, `redis://:${password}@`, `${password}@x:1`]) {
    await said('serve --check-config', { SOFTQUOTA__STORE__ADAPTER: 'redis', SOFTQUOTA__STORE__HOST: to });
    await said('serve --print-config', { SOFTQUOTA__STORE__HOST: to });
    await said('doctor', { SOFTQUOTA__STORE__HOST: to });
  }
  await said('serve --check-config', { SOFTQUOTA__SECURITY__SECRET_KEY: key });
  await said('serve --print-config', { SOFTQUOTA__SECURITY__SECRET_KEY: key });
  for (const url of [`http://somebody:${password}@127.0.0.1:2/`, `ftp://somebody:${password}@x/`]) {
    for (const token of [canary('token'), `${canary('token')} x`]) {
      const { stdout, stderr } = await server.softquota('usage', {
        env: { SOFTQUOTA_URL: url, SOFTQUOTA_TOKEN: token },
      });
      heard.add('usage', stdout + stderr);
      heard.hasNone(t, [token]);
    }
  }
  heard.hasNone(t, [password, key]);
});

t.test('tokens, sessions, links and client secrets are told nowhere, however they are sent', async t => {
  const server = await Server.open(t, { ini: { log: { LEVEL: 'trace' } } });
  const base = await addressOf(server);
  const heard = new Heard();
  const token = await account(server, 'alice');
  const { url } = await server.admin('/users/alice/sign-in-link', { method: 'POST' });
  const code = String(url).split('#code=')[1] ?? '';
  const clientSecret = canary('client');
  const source = {
    name: 'company',
    openid_connect_auto_discovery_url: 'http://127.0.0.1:2',
    client_id: 'x',
    client_secret: clientSecret,
  };
  heard.add('a source', JSON.stringify(await server.admin('/admin/auths', { body: source })));

  const origin = { Origin: new URL(base).origin };
  const json = { 'Content-Type': 'application/json' };
  const ask = async (path: string, init: RequestInit) => {
    const response = await fetch(new URL(path, base), { redirect: 'manual', ...init });
    heard.add(`${init.method ?? 'GET'} ${path}`, await response.text());
    return response;
  };
  const signedIn = await ask('api/v1/session', {
    method: 'POST',
    headers: { ...origin, ...json },
    body: JSON.stringify({ token }),
  });
  t.equal(signedIn.status, 201);
  const [cookie = ''] = signedIn.headers.getSetCookie();
  const session = cookie.split(';')[0]?.split('=')[1] ?? '';
  t.ok(session.length > 40);

  for (const secret of [token, code, session, clientSecret]) {
    for (const Authorization of [`token ${secret}x`, `Bearer ${secret}`, secret, `Digest ${secret}`]) {
      await ask('api/v1/user/quota', { headers: { Authorization } });
    }
    for (const Cookie of [
      `softquota-session=${secret}x`,
      `softquota-session=${secret}; softquota-session=x`,
    ]) {
      await ask('api/v1/session', { headers: { ...origin, Cookie } });
      await ask(`sign-in/oauth2/1/callback?code=${secret}&state=${secret}`, { headers: { Cookie } });
    }
    for (const body of [
      JSON.stringify({ token: `${secret}x` }),
      JSON.stringify({ code: `${secret}x` }),
      JSON.stringify({ token: { secret } }),
      JSON.stringify({ code: 7, token: [secret] }),
      `{"token": "${secret}`,
      secret,
    ]) {
      for (const headers of [{ ...origin, ...json }, origin]) {
        await ask('api/v1/session', { method: 'POST', headers, body });
      }
    }
    await ask('api/v1/admin/auths', {
      method: 'POST',
      headers: { ...json, Authorization: `token ${token}` },
      body: JSON.stringify({ ...source, name: '', client_secret: `${secret}\n` }),
    });
    for (const body of [
      { ...source, client_secret: `${secret}\n` },
      { ...source, client_secret: [secret] },
    ]) {
      heard.add('a wrong source', (await server.ask('admin', '/api/v1/admin/auths', { body })).text);
    }
  }
  const [{ id }] = await server.admin('/admin/auths');
  await ask(`sign-in/oauth2/${id}`, {});
  await until(() => (server.daemon.log.includes('a sign-in came to nothing') ? true : null));
  await heardOf(server, heard);
  heard.hasNone(t, [token, code, session, ...session.split('.'), clientSecret]);
});
