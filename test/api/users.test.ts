/** Owners as users and organizations: how they come to be known, what is told of them, and their members. */

import t from 'tap';
import { z } from 'zod';
import { member, user } from '../../src/wire/index.ts';
import { groupsOf, measure, messageOf, namesIn, repository, userOf } from './people.ts';
import { World } from './world.ts';

t.test('an owner is known from the disk, a report or an administrator, never from a question', async t => {
  const world = await World.open(t);
  repository(world, 'dave/app');
  await measure(world);
  await world.report('erin', 'size:git:lfs', 500);
  await world.post('/admin/users', { username: 'frank' });
  for (const name of ['dave', 'erin', 'frank']) {
    t.match(await userOf(world, name), { login: name, type: 'user', is_admin: false, email: '' }, name);
  }
  await world.gate('GET', '/v1/check?owner=grace&subject=size:all');
  await world.gate('GET', '/v1/usage?owner=grace');
  for (const path of [
    '/admin/users/grace',
    '/admin/users/grace/quota',
    '/users/grace/tokens',
    '/orgs/grace/quota',
  ]) {
    await world.must(404, 'GET', path);
  }
  await world.call('GET', '/admin/quota/usage/grace');
  await world.call('GET', '/admin/quota/explain?user=grace&subject=size:all');
  t.strictSame(await namesIn(world), ['acme', 'admin1', 'alice', 'bob', 'carol', 'dave', 'erin', 'frank']);
});

t.test('a user is as it was created, and its name is all that has to be said', async t => {
  const world = await World.open(t);
  const before = Date.now();
  const body = { username: 'Dave', email: 'dave@git.example', full_name: 'Dave B.', is_admin: true };
  const created = user.parse(await world.post('/admin/users', body));
  t.match(created, { ...body, login: 'Dave', type: 'user' });
  t.ok(Number.isSafeInteger(created.id) && created.id > 0);
  t.ok(Date.parse(created.created) >= before && Date.parse(created.created) <= Date.now());
  t.strictSame(await userOf(world, 'dave'), created);

  const least = { email: '', full_name: '', is_admin: false };
  const nulls = { type: null, email: null, full_name: null, is_admin: null };
  t.match(await world.post('/admin/users', { username: 'e', ...nulls }), least);
  const organization = {
    username: 'guild',
    type: 'organization',
    password: 'what other programs send besides',
  };
  t.match(await world.post('/admin/users', organization), {
    ...least,
    type: 'organization',
  });
  await world.restart();
  t.strictSame(await userOf(world, 'DAVE'), created, 'after a restart');
});

t.test('a name that somebody has is 409, in whatever case, whatever else is wrong', async t => {
  const world = await World.open(t);
  const taken = await world.must(409, 'POST', '/admin/users', { body: { username: 'ALICE', email: 7 } });
  t.match(messageOf(taken), /^there is an owner ALICE already$/);
  await world.restart({ users: { CASE: 'keep' } });
  await world.post('/admin/users', { username: 'ALICE' });
  await world.must(409, 'POST', '/admin/users', { body: { username: 'alice' } });
});

t.test('any other name is taken, and found again percent-encoded', async t => {
  const world = await World.open(t);
  const names = [
    'a/b',
    'a%2Fb',
    'a b',
    'naïve',
    '名',
    'x'.repeat(255),
    'tokens',
    '__proto__',
    '\u202eevil',
    '-f',
  ];
  for (const username of names) {
    const created = user.parse(await world.post('/admin/users', { username }));
    t.strictSame(await userOf(world, username), created);
    const path = `/admin/users/${encodeURIComponent(username)}`;
    await world.patch(path, { full_name: 'Somebody' });
    await world.remove(path);
    await world.must(404, 'GET', path);
  }
  const shown = await world.must(404, 'GET', '/admin/users/%E2%80%AEevil');
  t.match(messageOf(shown), /\\u\{202e\}evil/, 'what could mislead a reader is escaped');
});

t.test('a change leaves what it does not name', async t => {
  const world = await World.open(t);
  const before = await userOf(world, 'bob');
  const change = async (body: object) => await world.patch('/admin/users/bob', body);
  t.strictSame(await change({ email: 'bob@git.example' }), { ...before, email: 'bob@git.example' });
  const full = { ...before, email: 'bob@git.example', full_name: 'Bob' };
  t.strictSame(await change({ full_name: 'Bob', email: null, username: null }), full);
  t.strictSame(await change({ email: '' }), { ...full, email: '' });
  await world.must(404, 'PATCH', '/admin/users/nobody', { body: { email: 5 } });
});

t.test('who becomes an administrator is one at the next request, and so is who is one no longer', async t => {
  const world = await World.open(t);
  const bob = { as: 'bob' } as const;
  await world.must(403, 'GET', '/admin/users', bob);
  await world.patch('/admin/users/bob', { is_admin: true });
  await world.patch('/admin/users/admin1', { is_admin: false }, bob);
  await world.must(403, 'GET', '/admin/users');
  await world.patch('/admin/users/bob', { is_admin: false }, { as: 'host' });
  await world.must(403, 'GET', '/admin/users', bob);
});

t.test('putting an unknown name into a group tells how to create one, or creates it if set so', async t => {
  const world = await World.open(t);
  await world.post('/admin/quota/groups', { name: 'free' });
  const body = { groups: ['free'] };
  const unknown = [
    await world.must(404, 'PUT', '/admin/quota/groups/free/users/dave'),
    await world.must(404, 'POST', '/admin/users/dave/quota/groups', { body }),
  ];
  for (const answer of unknown) {
    t.match(
      messageOf(answer),
      /softquota user create .*POST \/api\/v1\/admin\/users; .*\[users\] AUTO_CREATE = true/,
    );
  }
  await world.must(404, 'GET', '/admin/users/dave');

  await world.restart({ users: { AUTO_CREATE: 'true' } });
  await world.put('/admin/quota/groups/free/users/dave');
  await world.post('/admin/users/erin/quota/groups', body);
  for (const name of ['dave', 'erin']) {
    t.match(await userOf(world, name), { username: name, type: 'user', is_admin: false });
    t.strictSame(await groupsOf(world, name), ['free']);
  }
  t.match(await world.fault(422, 'PUT', '/admin/quota/groups/free/users/%20'), /^username: /);
  await world.must(404, 'PUT', '/admin/quota/groups/missing/users/frank');
  await world.must(422, 'POST', '/admin/users/frank/quota/groups', { body: { groups: ['missing'] } });
  await world.must(404, 'DELETE', '/admin/quota/groups/free/users/frank');
  await world.must(404, 'GET', '/admin/users/frank');
  t.notOk((await namesIn(world)).includes('frank'), 'what fails creates nobody');
});

t.test('the list goes by name, a page at a time, and can be searched', async t => {
  const world = await World.open(t, { settings: { server: { ROOT_URL: 'https://git.example/quota/' } } });
  for (const username of ['Zoe', 'bobby', 'BOBCAT']) {
    await world.post('/admin/users', { username });
  }
  t.strictSame(await namesIn(world, '?q=BOB'), ['bob', 'bobby', 'BOBCAT']);
  t.strictSame(await namesIn(world, '?q=bob&type=organization'), []);
  t.strictSame(await namesIn(world, '?type=organization'), ['acme']);
  const all = await namesIn(world);
  t.strictSame(all, ['acme', 'admin1', 'alice', 'bob', 'bobby', 'BOBCAT', 'carol', 'Zoe']);
  const pages = await Promise.all([1, 2, 3, 4].map(page => namesIn(world, `?page=${page}&limit=3`)));
  t.strictSame(pages, [all.slice(0, 3), all.slice(3, 6), all.slice(6), []]);
  await world.post('/admin/users', { username: 'a-bobby' });
  t.strictSame(await namesIn(world, '?q=BOBBY&limit=1'), ['bobby'], 'the whole name comes first');
  await world.remove('/admin/users/a-bobby');
  const { headers } = await world.must(200, 'GET', '/admin/users?q=b&page=1&limit=2&other=1');
  t.equal(headers['x-total-count'], '3');
  const next = 'https://git.example/quota/api/v1/admin/users?q=b&page=2&limit=2';
  t.equal(headers.link, `<${next}>; rel="next", <${next}>; rel="last"`);
  t.strictSame(await namesIn(world, '?page=0&limit=5000'), all, 'as Forgejo takes them');
  t.strictSame(await namesIn(world, '?page=-1&limit=0'), all);
});

const members = '/admin/orgs/acme/members';

async function membersIn(world: World, at = members): Promise<string[]> {
  const json = await world.get(at);
  return z
    .array(member)
    .parse(json)
    .map(({ login, role }) => `${login} ${role}`);
}

t.test('members are told as they came, each as a user with a role', async t => {
  const world = await World.open(t);
  const put = (name: string, role: string) =>
    world.must(204, 'PUT', `${members}/${name}`, { body: { role } });
  await put('bob', 'member');
  t.strictSame(await membersIn(world), ['alice owner', 'carol member', 'bob member']);
  await put('CAROL', 'owner');
  await put('bob', 'member');
  t.strictSame(await membersIn(world), ['alice owner', 'carol owner', 'bob member'], 'as they came, still');
  await world.remove(`${members}/alice`);
  t.strictSame(await membersIn(world), ['carol owner', 'bob member']);
  await put('alice', 'member');
  await world.restart();
  t.strictSame(await membersIn(world), ['carol owner', 'bob member', 'alice member'], 'after a restart');
  const bob = await world.get('/admin/users/bob');
  t.match(await world.get(members), [{}, { ...z.looseObject({}).parse(bob), role: 'member' }, {}]);
});

t.test('what is missing is 404, before anything that is wrong with the body', async t => {
  const world = await World.open(t);
  const broken = { rawBody: '{' };
  for (const [org, user] of [
    ['missing', 'bob'],
    ['alice', 'bob'],
    ['acme', 'missing'],
  ]) {
    await world.must(404, 'PUT', `/admin/orgs/${org}/members/${user}`, broken);
    await world.must(404, 'PUT', `/admin/orgs/${org}/members/${user}`, { body: { role: 'member' } });
    await world.must(404, 'DELETE', `/admin/orgs/${org}/members/${user}`);
  }
  await world.must(404, 'DELETE', `${members}/bob`);
  await world.must(404, 'GET', '/admin/orgs/missing/members');
  const { json } = await world.must(404, 'GET', '/admin/orgs/alice/members');
  t.match(json, { message: 'alice is a user, not an organization' });
});
