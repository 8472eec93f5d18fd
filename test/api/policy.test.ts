/** `/admin/quota/policy`: everything at once, or nothing. */

import t from 'tap';
import { replacedPolicy, type WholePolicy, wholePolicy } from '../../src/wire/index.ts';
import { messageOf } from './people.ts';
import { type Asked, type Settings, World } from './world.ts';

const path = '/admin/quota/policy';
const total = { name: 'total', limit: 10_000, subjects: ['size:all'] };
const media = { name: 'LFS & more/\u202e', limit: -1, subjects: ['size:git:lfs', 'size:assets:all'] };
const small = {
  rules: [total, media],
  groups: [
    { name: 'free', rules: ['total'], users: ['bob', 'acme', 'alice'] },
    { name: 'a/b %', rules: [media.name, 'total'], users: ['alice'] },
    { name: 'empty', rules: [], users: [] },
  ],
};

async function get(world: World): Promise<WholePolicy> {
  return wholePolicy.parse(await world.get(path));
}

async function put(world: World, body: unknown, query = '', asked: Asked = {}) {
  return replacedPolicy.parse(await world.put(path + query, body, asked));
}

/** Message of the fault in the answer. */
async function fault(world: World, status: number, body: unknown, query = ''): Promise<string> {
  return messageOf(await world.must(status, 'PUT', path + query, { body }));
}

/** Policy as the paths that Forgejo knows show it. */
async function seen(world: World) {
  const groups = await world.get('/admin/quota/groups');
  const users = await Promise.all(
    small.groups.map(async ({ name }) => {
      const { status, json } = await world.call(
        'GET',
        `/admin/quota/groups/${encodeURIComponent(name)}/users`,
      );
      return status === 404 ? null : (json as { login: string }[]).map(({ login }) => login); // as described
    }),
  );
  return { rules: await world.get('/admin/quota/rules'), groups, users };
}

t.test('what one installation gives, an empty one takes: rules, groups, and who is in which', async t => {
  const one = await World.open(t);
  t.match(await get(one), { rules: [], groups: [] });
  await put(one, small);
  const given = await get(one);
  t.match(given, small);
  const other = await World.open(t);
  const taken = await put(other, given, '?create_users=false').catch(error => error);
  t.match(taken, { message: /409.*version/ }, 'it was written for the policy of the other one');
  const { version: _, ...content } = given;
  t.strictSame(await put(other, content), { ...given, created_users: [] });
  t.strictSame(await seen(other), await seen(one));
  t.strictSame((await get(other)).version, given.version, 'the same policy has the same version');
  await other.restart();
  t.strictSame(await get(other), given, 'and it is kept');
  await put(other, { rules: [], groups: [] });
  t.strictSame(await seen(other), { rules: [], groups: [], users: [null, null, null] });
});

t.test('who has the policy in force is told so, in place of all of it again', async t => {
  const world = await World.open(t);
  await put(world, small);
  const { headers, json } = await world.must(200, 'GET', path);
  const { etag = '' } = headers;
  t.equal(etag, `"${(json as { version: string }).version}"`); // as described
  for (const held of [etag, `W/${etag}`, `"another", ${etag}`, '*']) {
    const answer = await world.must(304, 'GET', path, { headers: { 'If-None-Match': held } });
    t.match(answer, { text: '', headers: { etag, 'cache-control': 'no-store' } }, held);
  }
  const freshly = { 'If-None-Match': etag, 'Cache-Control': 'no-cache' };
  await world.must(304, 'GET', path, { headers: freshly });
  for (const held of ['"another"', '', etag.slice(1, -1), etag.toUpperCase()]) {
    await world.get(path, { headers: { 'If-None-Match': held } });
  }
  await world.remove('/admin/quota/groups/free/users/bob');
  t.not((await world.must(200, 'GET', path, { headers: { 'If-None-Match': etag } })).headers.etag, etag);
  await world.must(403, 'GET', path, { as: 'bob', headers: { 'If-None-Match': '*' } });
});

t.test('of two administrators who looked at the same policy, only the first one changes it', async t => {
  const world = await World.open(t);
  const { version } = await get(world);
  const bodies = [1, 2, 3, 4].map(limit => ({
    version,
    rules: [{ ...total, limit, per: 'owner' }],
    groups: [],
  }));
  const statuses = await Promise.all(
    bodies.map(async body => (await world.call('PUT', path, { body })).status),
  );
  t.strictSame(statuses.toSorted(), [200, 409, 409, 409]);
  const first = bodies[statuses.indexOf(200)];
  t.strictSame((await get(world)).rules, first?.rules);

  const looked = await get(world);
  await world.remove('/admin/quota/rules/total');
  t.match(await fault(world, 409, { ...looked, groups: [] }), /^version: .* changed since/);
  t.match(await fault(world, 409, { ...looked, groups: [] }, '?dry_run=true'), /^version: /);
  t.strictSame((await get(world)).rules, []);
  await put(world, { rules: looked.rules, groups: [] });
  t.strictSame((await get(world)).rules, looked.rules, 'without a version it takes the place of any');
});

t.test('every fault is told at once, by where it stands, and nothing is changed', async t => {
  const world = await World.open(t);
  await put(world, small);
  const before = await get(world);
  const asked = {
    rules: [total, total],
    groups: [
      { name: 'one', rules: ['total', 'gone', 'total'], users: ['bob', 'dave', 'BOB'] },
      { name: 'one', rules: [], users: ['erin'] },
    ],
  };
  t.equal(
    await fault(world, 422, asked),
    'groups.0.rules.1: there is no rule gone among the rules; ' +
      'groups.0.rules.2: total is listed twice; ' +
      'groups.0.users.1: there is no user or organization dave; ' +
      'groups.0.users.2: BOB is listed twice; ' +
      'groups.1.users.0: there is no user or organization erin; ' +
      'create_users: true, or softquota policy import --create-users, creates unknown users; ' +
      'rules.1.name: total is listed twice; ' +
      'groups.1.name: one is listed twice',
  );
  const malformed = {
    rules: [{ name: '.', limit: -2, subjects: ['size:some'], more: 1 }],
    groups: [{ name: 'g', rules: [total] }],
    settings: {},
  };
  t.equal(
    await fault(world, 422, malformed, '?dry_run=maybe&other=1'),
    'dry_run: expected true or false; query: there is no other; ' +
      'rules.0.name: it is ".", which stands for a directory; ' +
      'rules.0.limit: expected whole bytes from 0 to 2^53 - 1, or -1 for unlimited; ' +
      'rules.0.subjects.0: there is no subject "size:some"; rules.0: there is no more; ' +
      'groups.0.rules.0: expected a string; body: there is no settings',
  );
  t.match(await fault(world, 422, { rules: [] }), /^groups: it is missing, expected a list/);
  t.match(
    await fault(world, 422, { ...small, groups: [{ name: 'g', users: [''] }] }, '?create_users=true'),
    /^groups\.0\.users\.0: .*empty/,
  );
  t.strictSame(await get(world), before);
  await world.must(404, 'GET', '/admin/users/erin');
});

t.test('those who are not known are created where that is said, and only then', async t => {
  const auto: Settings = { users: { AUTO_CREATE: 'true' } };
  const world = await World.open(t);
  const asked = { rules: [total], groups: [{ name: 'free', rules: ['total'], users: ['Dave', 'bob'] }] };
  t.match(await fault(world, 422, asked), /users\.0: there is no user or organization Dave; create_users: /);
  t.strictSame((await put(world, asked, '?create_users=true&dry_run=true')).created_users, ['Dave']);
  t.equal((await world.call('GET', '/admin/users/dave')).status, 404, 'not by a trial');
  t.match(await put(world, asked, '?create_users=true'), {
    created_users: ['Dave'],
    groups: [{ users: ['Dave', 'bob'] }],
  });
  t.match(await world.get('/admin/users/dave'), { username: 'Dave', type: 'user' });
  t.strictSame((await put(world, asked, '?create_users=true')).created_users, []);

  await world.restart(auto);
  const more = { rules: [], groups: [{ name: 'free', users: ['erin'] }] };
  t.match(await fault(world, 422, more, '?create_users=false'), /no user or organization erin/);
  t.strictSame((await put(world, more)).created_users, ['erin']);
});

t.test('a policy may be longer than other bodies, up to 16 MiB', async t => {
  const world = await World.open(t);
  const users = Array.from({ length: 30_000 }, (_, at) => `somebody whose name is rather long ${at}`);
  const large = { rules: [total], groups: [{ name: 'free', rules: ['total'], users }] };
  t.equal((await put(world, large, '?create_users=true')).created_users.length, users.length);
  t.strictSame((await get(world)).groups, large.groups);
  const simulated = await world.must(200, 'POST', '/admin/quota/simulate', {
    body: { ...large, groups: [{ name: 'free', rules: [{ name: 'total' }], users }] },
  });
  t.match(simulated.json, { refused: { count: 0 } });
  const rawBody = JSON.stringify({ ...large, name: 'x'.repeat(16 * 1024 * 1024) });
  const { json } = await world.must(413, 'PUT', path, { rawBody });
  t.match(json, { message: 'body: expected at most 16 MiB' });
});
