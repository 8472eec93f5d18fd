/** What owners see of their own, and administrators of any owner. */

import t from 'tap';
import { World } from './world.ts';

const group = { name: 'free', rules: [{ name: 'lfs', limit: 100, subjects: ['size:git:lfs'] }] };

t.test('owners see what they use and what limits them, and no names of rules and groups', async t => {
  const world = await World.open(t);
  await world.must(201, 'POST', '/admin/quota/groups', { body: group });
  const leaves = [
    'repos:public',
    'repos:private',
    'git:lfs',
    'assets:attachments:issues',
    'assets:attachments:releases',
  ];
  const rest = ['assets:artifacts', 'assets:packages:all', 'assets:wiki'];
  for (const owner of ['alice', 'acme']) {
    for (const [at, leaf] of [...leaves, ...rest].entries())
      await world.report(owner, `size:${leaf}`, at + 1);
    await world.must(204, 'PUT', `/admin/quota/groups/free/users/${owner}`);
  }
  const attachments = { issues: 4, releases: 5 };
  const assets = { attachments, artifacts: 6, packages: { all: 7 }, wiki: 8 };
  const used = { size: { repos: { public: 1, private: 2 }, git: { LFS: 3 }, assets } };
  const nameless = [{ rules: [{ limit: 100, subjects: ['size:git:lfs'] }] }];
  for (const path of ['/user/quota', '/orgs/acme/quota', '/orgs/ACME/quota']) {
    t.strictSame(
      (await world.must(200, 'GET', path, { as: 'alice' })).json,
      { used, groups: nameless },
      path,
    );
  }
  for (const owner of ['alice', 'acme', 'Alice']) {
    const { json } = await world.must(200, 'GET', `/admin/users/${owner}/quota`);
    t.strictSame(json, { used, groups: [group] }, owner);
  }
});

t.test('the lists have the units that take space, largest first, by name and size', async t => {
  const world = await World.open(t);
  const units = [
    ['size:assets:artifacts', 5, 'run 5'],
    ['size:assets:artifacts', 9, 'run 9'],
    ['size:assets:attachments:issues', 7, 'issue'],
    ['size:assets:attachments:releases', 8, 'release'],
    ['size:assets:packages:all', 3, 'package'],
    ['size:git:lfs', 4, 'in no list'],
  ] as const;
  const lists = {
    artifacts: [
      { name: 'run 9', size: 9 },
      { name: 'run 5', size: 5 },
    ],
    attachments: [
      { name: 'release', size: 8 },
      { name: 'issue', size: 7 },
    ],
    packages: [{ name: 'package', size: 3 }],
  };
  for (const [owner, path] of [
    ['alice', '/user/quota'],
    ['acme', '/orgs/acme/quota'],
  ] as const) {
    for (const [subject, bytes, unit] of units) await world.report(owner, subject, bytes, unit);
    for (const [list, expected] of Object.entries(lists)) {
      t.strictSame(
        (await world.must(200, 'GET', `${path}/${list}`, { as: 'alice' })).json,
        expected,
        `${path}/${list}`,
      );
    }
  }
  t.strictSame(
    (await world.must(200, 'GET', '/user/quota/packages', { as: 'bob' })).json,
    [],
    "nothing of others'",
  );
});

t.test('the check tells whether a start would be let through: in report mode always', async t => {
  const world = await World.open(t);
  await world.must(201, 'POST', '/admin/quota/groups', { body: group });
  await world.must(204, 'PUT', '/admin/quota/groups/free/users/acme');
  await world.report('acme', 'size:git:lfs', 101);
  const check = async (subject: string) =>
    (await world.must(200, 'GET', `/orgs/acme/quota/check?subject=${subject}`, { as: 'alice' })).json;
  t.equal(await check('size:git:lfs'), false);
  t.equal(await check('size:repos:public'), true);
  world.reload({ quota: { MODE: 'report' } });
  t.equal(await check('size:git:lfs'), true);
  world.reload({ quota: { ENABLED: 'false' } });
  t.equal(await check('size:git:lfs'), true);
});

t.test('names and membership follow an owner who is renamed', async t => {
  const world = await World.open(t);
  await world.report('alice', 'size:git:lfs', 5);
  await world.must(409, 'DELETE', '/admin/users/alice');
  await world.must(200, 'PATCH', '/admin/users/bob', { body: { username: 'robert' } });
  await world.must(200, 'PATCH', '/admin/users/acme', { body: { username: 'apex' } });
  await world.must(200, 'GET', '/user/quota', { as: 'bob' });
  await world.must(404, 'GET', '/admin/users/bob/quota');
  await world.must(200, 'GET', '/orgs/apex/quota', { as: 'alice' });
  await world.must(404, 'GET', '/orgs/acme/quota', { as: 'alice' });
});
