/** Members of an organization, and what membership lets them see. */

import t from 'tap';
import { z } from 'zod';
import { member } from '../../src/wire/index.ts';
import { type Asked, World } from './world.ts';

const path = '/admin/orgs/acme/members';

async function membersIn(world: World, at = path): Promise<string[]> {
  const { json } = await world.must(200, 'GET', at);
  return z
    .array(member)
    .parse(json)
    .map(({ login, role }) => `${login} ${role}`);
}

t.test('members are told as they came, each as a user with a role', async t => {
  const world = await World.open(t);
  const put = (name: string, role: string) => world.must(204, 'PUT', `${path}/${name}`, { body: { role } });
  await put('bob', 'member');
  t.strictSame(await membersIn(world), ['alice owner', 'carol member', 'bob member']);
  await put('CAROL', 'owner');
  await put('bob', 'member');
  t.strictSame(await membersIn(world), ['alice owner', 'carol owner', 'bob member'], 'as they came, still');
  await world.must(204, 'DELETE', `${path}/alice`);
  t.strictSame(await membersIn(world), ['carol owner', 'bob member']);
  await put('alice', 'member');
  await world.restart();
  t.strictSame(await membersIn(world), ['carol owner', 'bob member', 'alice member'], 'after a restart');
  const { json: bob } = await world.must(200, 'GET', '/admin/users/bob');
  t.match(await world.get(path), [{}, { ...z.looseObject({}).parse(bob), role: 'member' }, {}]);
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
  await world.must(404, 'DELETE', `${path}/bob`);
  await world.must(404, 'GET', '/admin/orgs/missing/members');
  const { json } = await world.must(404, 'GET', '/admin/orgs/alice/members');
  t.match(json, { message: 'alice is a user, not an organization' });
});

t.test('a role is owner or member, and only users have one', async t => {
  const world = await World.open(t);
  await world.must(201, 'POST', '/admin/users', { body: { username: 'guild', type: 'organization' } });
  const faulty: readonly (readonly [string, Asked, RegExp])[] = [
    ['bob', { body: {} }, /^role: /],
    ['bob', { body: { role: 'boss' } }, /^role: .*owner.*member/],
    ['bob', { body: { role: ['owner'] } }, /^role: /],
    ['bob', { body: 'owner' }, /^body: /],
    ['bob', { rawBody: '{' }, /^body: /],
    ['bob', {}, /^body: /],
    ['bob', { body: { role: 'owner' }, contentType: 'text/plain' }, /^body: .*application\/json/],
    ['guild', { body: { role: 'member' } }, /guild is an organization/],
    ['acme', { body: { role: 'member' } }, /acme is an organization/],
  ];
  for (const [name, asked, message] of faulty) {
    t.match((await world.must(422, 'PUT', `${path}/${name}`, asked)).json, { message });
  }
  t.strictSame(await membersIn(world), ['alice owner', 'carol member']);
});
