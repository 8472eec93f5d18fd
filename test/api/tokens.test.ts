/** Tokens over HTTP: what one lets do, for how long, who makes it, and where it never shows. */

import { hash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { createdToken, token as tokenSchema } from '../../src/wire/index.ts';
import { answerIn } from './http.ts';
import { messageOf } from './people.ts';
import { type Asked, World } from './world.ts';

type Wanted = Partial<{ name: string; scopes: readonly string[]; expires_at: string | null }>;

const simple = { name: 'ci', scopes: ['all'] };

async function make(world: World, name: string, wanted: Wanted = {}, asked: Asked = {}) {
  const body = { ...simple, ...wanted };
  const made = await world.must(201, 'POST', `/users/${name}/tokens`, { as: 'host', body, ...asked });
  return createdToken.parse(made.json);
}

async function tokensOf(world: World, name: string, asked: Asked = {}) {
  return z.array(tokenSchema).parse(await world.get(`/users/${name}/tokens`, { as: 'host', ...asked }));
}

/** Everything that the daemon keeps on the disk. */
function kept(world: World): Buffer {
  const data = join(world.directory, 'data');
  const files = readdirSync(data, { withFileTypes: true }).filter(entry => entry.isFile());
  return Buffer.concat(files.map(({ name }) => readFileSync(join(data, name))));
}

t.test('a token is shown once, is kept as a digest, and is good after a restart', async t => {
  const world = await World.open(t);
  const made = await make(world, 'bob');
  t.match(made.sha1, /^[0-9a-f]{40}$/);
  t.match(made, { ...simple, token_last_eight: made.sha1.slice(-8), last_used_at: null, expires_at: null });
  const { sha1: _, ...shown } = made;
  t.strictSame((await tokensOf(world, 'bob')).at(-1), shown);
  const { text: events } = await world.must(200, 'GET', '/admin/quota/events?limit=1000');
  const { text: backup } = await world.must(200, 'GET', '/admin/backup', { as: 'host' });
  await world.restart();
  await world.get('/user/quota', { token: made.sha1 });
  await world.close();
  t.ok(kept(world).includes(hash('sha256', made.sha1)));
  for (const text of [events, backup, kept(world).toString('latin1')]) t.notOk(text.includes(made.sha1));
  t.ok(events.includes('"ci"'), 'that it was made is on record');
});

t.test('one makes and revokes tokens for oneself; for others an administrator does', async t => {
  const world = await World.open(t);
  const bob = { as: 'bob' } as const;
  const { id } = await make(world, 'BOB', {}, bob);
  t.equal((await tokensOf(world, 'bob', bob)).length, 2);
  await world.remove(`/users/bob/tokens/${id}`, bob);
  const attempts = async (name: string) => {
    const answers = [
      await world.must(403, 'GET', `/users/${name}/tokens`, bob),
      await world.must(403, 'POST', `/users/${name}/tokens`, { ...bob, rawBody: '{' }),
      await world.must(403, 'DELETE', `/users/${name}/tokens/1`, bob),
    ];
    return answers.map(({ text }) => text);
  };
  t.strictSame(await attempts('alice'), await attempts('missing'), 'whether there is such a user or not');

  const made = await make(world, 'bob', {}, { as: 'admin1' });
  await world.get('/user/quota', { token: made.sha1 });
  await world.remove('/users/bob/tokens/ci');
  await world.must(404, 'DELETE', '/users/bob/tokens/ci');
  await world.must(404, 'DELETE', `/users/alice/tokens/${made.id}`);
  for (const method of ['GET', 'POST', 'DELETE']) {
    await world.must(404, method, `/users/missing/tokens${method === 'DELETE' ? '/1' : ''}`, {
      rawBody: '{',
    });
  }
  for (const scopes of [['write:admin'], ['read:admin', 'write:user']]) {
    const token = await world.newToken('admin1', scopes);
    await world.must(403, 'POST', '/users/bob/tokens', { token, body: simple });
  }
});

t.test('a token that is named like the id of another one is not taken for it', async t => {
  const world = await World.open(t);
  const first = await make(world, 'bob');
  const second = await make(world, 'bob', { name: String(first.id) });
  await world.remove(`/users/bob/tokens/${first.id}`);
  await world.must(401, 'GET', '/user/quota', { token: first.sha1 });
  await world.remove(`/users/bob/tokens/${first.id}`);
  await world.must(401, 'GET', '/user/quota', { token: second.sha1 });
  await make(world, 'bob', { name: 'a/b ü' });
  await world.remove(`/users/bob/tokens/${encodeURIComponent('a/b ü')}`);
});

t.test('a token that is revoked lets nothing more in, not even a request that has begun', async t => {
  const world = await World.open(t);
  const { sha1 } = await make(world, 'bob');
  const { sha1: other } = await make(world, 'admin1');
  const slow = await slowly(t, world, '/users/bob/tokens', sha1);
  const slowOther = await slowly(t, world, '/users/bob/tokens', other);
  await world.remove('/users/bob/tokens/ci');
  await world.patch('/admin/users/admin1', { is_admin: false }, { as: 'host' });
  await world.must(401, 'GET', '/user/quota', { token: sha1 });
  const body = JSON.stringify({ name: 'made too late', scopes: ['all'] });
  t.equal((await slow(body)).status, 401);
  t.equal((await slowOther(body)).status, 403);
  t.equal((await tokensOf(world, 'bob')).length, 1);
});

/** A request whose headers have arrived; resolves with what sends its body, and gives the answer. */
async function slowly(t: Test, world: World, path: string, token: string) {
  const sent = request(new URL(`api/v1${path}`, world.url), {
    method: 'POST',
    headers: { Authorization: `token ${token}`, 'Content-Type': 'application/json', Expect: '100-continue' },
  });
  t.teardown(() => sent.destroy());
  const answered = once(sent, 'response');
  sent.flushHeaders();
  await once(sent, 'continue');
  // The daemon has looked at the credentials once it has answered this.
  await world.get('/version');
  return async (body: string) => {
    sent.end(body);
    const [response] = await answered;
    return answerIn(response);
  };
}

t.test('names of tokens are each in use once by a user', async t => {
  const world = await World.open(t);
  await make(world, 'bob');
  const again = await world.fault(409, 'POST', '/users/bob/tokens', { body: simple });
  t.match(again, /^bob has a token ci already$/);
  await make(world, 'carol');
});

t.test('a user has at most a hundred tokens', async t => {
  const world = await World.open(t);
  const { length } = z.array(z.unknown()).parse(await world.get('/users/bob/tokens'));
  for (let made = length; made < 100; made++) await make(world, 'bob', { name: `token ${made}` });
  const refused = await world.must(409, 'POST', '/users/bob/tokens', { body: simple });
  t.match(messageOf(refused), /^bob has 100 tokens, which is the limit: revoke one first$/);
  await world.remove('/users/bob/tokens/token%2099');
  await make(world, 'bob');
});
