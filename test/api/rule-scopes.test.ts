/** Rules that limit groups, repositories, pushes and files, over the API. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { simulation } from '../../src/wire/index.ts';
import { measure, messageOf, repository } from './people.ts';
import { World } from './world.ts';

t.setTimeout(240_000);

const rules = '/admin/quota/rules';
const file = { name: 'big-files', limit: 100_000_000, subjects: ['size:repos:all'], per: 'file' };

t.test('a rule says what it limits: the owner unless it is told otherwise', async t => {
  const world = await World.open(t);
  const created = async (body: unknown) => (await world.must(201, 'POST', rules, { body })).json;
  t.match(await created({ name: 'plain', limit: 1 }), { per: 'owner' });
  t.match(await created({ name: 'null', limit: 1, per: null }), { per: 'owner' });
  t.match(await created(file), file);
  t.match(await world.get(`${rules}/big-files`), { per: 'file' });
  const edited = async (body: unknown) =>
    (await world.must(200, 'PATCH', `${rules}/big-files`, { body })).json;
  t.match(await edited({ limit: 5 }), { per: 'file', limit: 5 }, 'left out, it stays');
  t.match(await edited({ per: 'repository' }), { per: 'repository' });
  t.match(await edited({ limit: 0, grace: 60 }), { limit: 0, grace: 60 });
  t.match(
    messageOf(await world.must(422, 'PATCH', `${rules}/big-files`, { body: { per: 'push' } })),
    /limit: expected more than 0.*grace: expected none/s,
    'the rule as it would be is checked',
  );
  t.match(await edited({ per: 'push', limit: 7, grace: 'default' }), { per: 'push', limit: 7 });
  await world.restart();
  t.match(await world.get(`${rules}/big-files`), { per: 'push', limit: 7 });
});

t.test('what cannot be is refused, behind a name that exists', async t => {
  const world = await World.open(t);
  await world.must(201, 'POST', rules, { body: file });
  const fault = async (body: object) =>
    messageOf(await world.must(422, 'POST', rules, { body: { ...file, name: 'other', ...body } }));
  t.match(await fault({ per: 'team' }), /per: expected one of owner, group, repository, push, file/);
  t.match(await fault({ per: 5 }), /per: expected one of/);
  t.match(await fault({ limit: 0 }), /limit: expected more than 0, or -1 for unlimited, for each file/);
  t.match(await fault({ grace: 60 }), /grace: expected none for each file/);
  t.match(await fault({ grace_most: '5 %' }), /grace: expected none for each file/);
  await world.must(409, 'POST', rules, { body: { ...file, per: 'team' } });
  const whole = { rules: [{ ...file, per: 'team' }], groups: [] };
  t.match(messageOf(await world.must(422, 'PUT', '/admin/quota/policy', { body: whole })), /rules\.0\.per/);
});

t.test('a trial of a policy tells whom a group together would refuse', async t => {
  const world = await World.open(t, { settings: { quota: { ENABLED: 'true' } } });
  await world.report('alice', 'size:git:lfs', 60);
  await world.report('bob', 'size:git:lfs', 50);
  const lab = { name: 'lab', limit: 100, subjects: ['size:all'], per: 'group' };
  const body = {
    rules: [lab],
    groups: [{ name: 'lab', rules: [{ name: 'lab' }], users: ['alice', 'bob'] }],
  };
  const { json } = await world.must(200, 'POST', '/admin/quota/simulate', { body });
  t.match(json, {
    refused: {
      count: 2,
      first: [{ user: 'alice', changes: [{ after: { per: 'group', used: 110, share: 60, limit: 100 } }] }],
    },
  });
});

t.test('a trial of a policy names the repositories that it would refuse or allow', async t => {
  const world = await World.open(t, { settings: { quota: { ENABLED: 'true', DEFAULT_GROUPS: 'all' } } });
  for (const [name, bytes] of [
    ['alice/app', 500],
    ['alice/small', 50],
    ['bob/app', 5000],
    ...Array.from({ length: 25 }, (_, at) => [`carol/r${at}`, 1000 + at] as const),
  ] as const) {
    writeFileSync(join(repository(world, name), 'objects/data'), Buffer.alloc(bytes - 21));
  }
  await measure(world);
  const each = (limit: number) => ({
    name: 'each',
    limit,
    subjects: ['size:repos:all'],
    per: 'repository' as const,
  });
  await world.must(201, 'POST', rules, { body: each(3000) });
  await world.must(201, 'POST', '/admin/quota/groups', { body: { name: 'all', rules: [{ name: 'each' }] } });
  const body = {
    rules: [each(400), file],
    groups: [
      { name: 'all', rules: [{ name: 'each' }] },
      { name: 'free', rules: [{ name: 'big-files' }], users: ['bob'] },
    ],
  };
  const trial = async (draft: object) =>
    simulation.parse((await world.must(200, 'POST', '/admin/quota/simulate', { body: draft })).json);
  const { refused, allowed, not_asked: notAsked } = await trial(body);
  t.match(refused.first, [
    { user: 'carol', changes: [{ unit: 'carol/r24' }, { unit: 'carol/r23' }] },
    {
      user: 'alice',
      changes: [
        {
          subject: 'size:repos:private',
          unit: 'alice/app',
          before: { allowed: true },
          after: { allowed: false, per: 'repository', unit: 'alice/app', used: 500, limit: 400 },
        },
      ],
    },
  ]);
  t.strictSame(
    refused.first.map(({ changes }) => changes.length),
    [20, 1],
    'the largest, and none that was refused before',
  );
  t.equal(refused.count, 2);
  t.equal(allowed.count, 0);
  t.strictSame(notAsked, ['file']);
  const without = await trial({ rules: [], groups: [] });
  t.match(without.allowed, { count: 1, first: [{ user: 'bob', changes: [{ unit: 'bob/app' }] }] });
  t.notOk('not_asked' in without);
});
