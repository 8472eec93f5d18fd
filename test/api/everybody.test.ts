/** Lists over all owners: tokens, sessions, and the largest units. */

import t from 'tap';
import { z } from 'zod';
import { anySession, anyToken, anyUnit } from '../../src/wire/index.ts';
import { signedIn } from './browser.ts';
import { measure, repository } from './people.ts';
import { type Asked, World } from './world.ts';

t.test('the tokens of all users are one list, the newest first, without what lets in', async t => {
  const world = await World.open(t);
  const sha1 = await world.newToken('bob', ['read:user']);
  const list = async (query = '', asked: Asked = {}) =>
    z.array(anyToken).parse(await world.get(`/admin/tokens${query}`, asked));
  const all = await list();
  t.strictSame(
    all.map(({ user }) => user),
    ['bob', 'carol', 'bob', 'alice', 'admin1'],
  );
  t.match(all[0], { scopes: ['read:user'], token_last_eight: sha1.slice(-8), last_used_at: null });
  t.notOk(JSON.stringify(all).includes(sha1));
  t.strictSame(
    (await list('?q=AR')).map(({ user }) => user),
    ['carol'],
  );
  const page = await world.must(200, 'GET', '/admin/tokens?limit=2&page=2');
  t.equal(page.headers['x-total-count'], '5');
  t.strictSame(
    z
      .array(anyToken)
      .parse(page.json)
      .map(({ user }) => user),
    ['bob', 'alice'],
  );
  await world.remove(`/users/bob/tokens/${all[0]?.id}`);
  t.equal((await list()).length, 4);
});

t.test('the sessions of all users are one list, and an administrator ends any of them', async t => {
  const world = await World.open(t);
  const bob = { as: 'nobody', headers: await signedIn(world, 'bob') } as const;
  const admin = { as: 'nobody', headers: await signedIn(world, 'admin1') } as const;
  const list = async (query = '') =>
    z.array(anySession).parse(await world.get(`/admin/sessions${query}`, admin));
  t.strictSame(
    (await list()).map(({ user, current }) => [user, current]),
    [
      ['admin1', true],
      ['bob', false],
    ],
  );
  const [found] = await list('?q=bo');
  await world.remove(`/users/bob/sessions/${found?.id}`, admin);
  t.equal((await list()).length, 1);
  await world.must(401, 'GET', '/session', bob);
});

t.test('the largest units of all owners come first, with whose they are', async t => {
  const world = await World.open(t);
  const app = repository(world, 'dave/app');
  repository(world, 'erin/site');
  await world.report('bob', 'size:git:lfs', 5000, 'store');
  await world.report('carol', 'size:assets:wiki', 3, 'notes');
  await measure(world);
  const list = async (query = '') => z.array(anyUnit).parse(await world.get(`/admin/quota/units${query}`));
  const all = await list();
  t.strictSame(all.map(({ owner, subject, bytes }) => [owner, subject, bytes]).slice(0, 1), [
    ['bob', 'size:git:lfs', 5000],
  ]);
  t.equal(all.at(-1)?.owner, 'carol');
  t.equal(all.length, 4);
  const repositories = await list('?subject=size:repos:all');
  t.strictSame(repositories.map(({ owner }) => owner).toSorted(), ['dave', 'erin']);
  t.match(await list('?q=dave/'), [{ name: app, owner: 'dave', kind: 'walked', partial: false }]);
  t.match(await list('?q=DAVE/'), [{ name: app }], 'in either case');
  const page = await world.must(200, 'GET', '/admin/quota/units?limit=1&page=4');
  t.match(page.json, [{ owner: 'carol' }]);
  t.equal(page.headers['x-total-count'], '4');
});
