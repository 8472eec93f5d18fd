/**
 * Owners who get another name or another type, or go: what goes along with them, and what nobody inherits.
 */

import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { z } from 'zod';
import { groupsOf, measure, repository, userOf } from './people.ts';
import { World } from './world.ts';

t.test('a directory belongs to a user until someone says organization', async t => {
  const world = await World.open(t);
  repository(world, 'guild/app');
  await measure(world);
  const guild = await userOf(world, 'guild');
  await world.must(404, 'GET', '/admin/orgs/guild/members');
  const edited = await world.must(200, 'PATCH', '/admin/users/guild', { body: { type: 'organization' } });
  t.strictSame(edited.json, { ...guild, type: 'organization' });
  t.strictSame(await world.get('/admin/orgs/guild/members'), []);
  await measure(world);
  await world.restart();
  t.match(await userOf(world, 'guild'), { type: 'organization' }, 'and stays one');
});

t.test('what the other type cannot have stands in the way of becoming it', async t => {
  const world = await World.open(t);
  const become = async (name: string, type: string) =>
    await world.fault(409, 'PATCH', `/admin/users/${name}`, { body: { type, email: 'x@git.example' } });
  t.match(await become('bob', 'organization'), /bob has tokens/);
  t.match(await become('carol', 'organization'), /carol has tokens and memberships/);
  t.match(await become('acme', 'user'), /acme has members/);
  t.match(await userOf(world, 'acme'), { type: 'organization', email: '' }, 'and nothing is changed');
});

async function renamesFound(world: World) {
  const json = await world.get('/admin/quota/findings');
  return z
    .array(z.object({ code: z.string(), message: z.string() }))
    .parse(json)
    .flatMap(({ code, message }) => (code === 'perhaps_renamed' ? [message] : []));
}

t.test('who is renamed on the disk alone is told, until the groups are where they belong', async t => {
  const world = await World.open(t);
  const git = join(world.directory, 'git');
  for (const name of ['bob/app', 'bob/lib', 'carol/app', 'acme/app']) repository(world, name);
  await world.post('/admin/quota/groups', { name: 'free' });
  for (const name of ['bob', 'carol']) await world.put(`/admin/quota/groups/free/users/${name}`);
  await measure(world);

  renameSync(join(git, 'bob/app.git'), join(git, 'acme/other.git'));
  await measure(world);
  t.same(await renamesFound(world), [], 'bob has another one');
  mkdirSync(join(git, 'robert'));
  renameSync(join(git, 'bob/lib.git'), join(git, 'robert/lib.git'));
  await measure(world);
  const message =
    /^Owner "bob" is in "free" and has no units any more, and "robert" came within a day of that/;
  t.match(await renamesFound(world), [message]);
  t.match(
    z
      .array(z.object({ message: z.string() }))
      .parse(await world.get('/admin/quota/lint'))
      .at(-1),
    { message },
  );

  await world.patch('/admin/users/bob', { username: 'robert' });
  t.same(await groupsOf(world, 'robert'), ['free']);
  t.same(await renamesFound(world), []);
});
