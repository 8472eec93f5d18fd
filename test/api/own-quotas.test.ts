/** Quotas that owners see of their own, and administrators of any owner. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { z } from 'zod';
import { measure, repository } from './people.ts';
import { World } from './world.ts';

const group = {
  name: 'free',
  rules: [{ name: 'lfs', limit: 100, subjects: ['size:git:lfs'], per: 'owner' }],
};

t.test('owners see what they use and what limits them, and no names of rules and groups', async t => {
  const world = await World.open(t);
  await world.post('/admin/quota/groups', group);
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
    await world.put(`/admin/quota/groups/free/users/${owner}`);
  }
  const attachments = { issues: 4, releases: 5 };
  const assets = { attachments, artifacts: 6, packages: { all: 7 }, wiki: 8 };
  const used = { size: { repos: { public: 1, private: 2 }, git: { LFS: 3 }, assets } };
  const nameless = [{ rules: [{ limit: 100, subjects: ['size:git:lfs'], per: 'owner' }] }];
  for (const path of ['/user/quota', '/orgs/acme/quota', '/orgs/ACME/quota']) {
    t.strictSame(await world.get(path, { as: 'alice' }), { used, groups: nameless }, path);
  }
  for (const owner of ['alice', 'acme', 'Alice']) {
    t.strictSame(await world.get(`/admin/users/${owner}/quota`), { used, groups: [group] }, owner);
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
      t.strictSame(await world.get(`${path}/${list}`, { as: 'alice' }), expected, `${path}/${list}`);
    }
  }
  t.strictSame(await world.get('/user/quota/packages', { as: 'bob' }), [], "nothing of others'");
});

t.test("the lists come a page at a time, as Forgejo's do, whatever page and limit are asked for", async t => {
  const world = await World.open(t);
  const names = Array.from({ length: 60 }, (_, at) => `package ${String(at).padStart(2, '0')}`);
  const path = '/user/quota/packages';
  for (const name of names) await world.report('alice', 'size:assets:packages:all', 7, name);
  const list = async (query: string) => {
    const { json, headers } = await world.must(200, 'GET', `${path}${query}`, { as: 'alice' });
    const units = z.array(z.object({ name: z.string() })).parse(json);
    t.equal(headers['x-total-count'], '60', query);
    return { names: units.map(({ name }) => name), link: String(headers.link ?? '') };
  };
  const first = await list('');
  t.strictSame(first.names, names.slice(0, 50), 'the first page');
  t.match(first.link, new RegExp(`/api/v1${path}\\?page=2&limit=50>; rel="next", <.*>; rel="last"$`));
  for (const query of ['?page=0', '?limit=0', '?page=-3&limit=-1', '?page=&limit=']) {
    t.strictSame(await list(query), first, query);
  }
  t.strictSame((await list('?limit=5000')).names, names, 'as many as can be');
  t.strictSame((await list('?page=3&limit=25')).names, names.slice(50));
  t.strictSame((await list('?page=9')).names, []);
  await world.must(422, 'GET', `${path}?limit=many`, { as: 'alice' });
});

t.test('what lies on the disk is named as its owner knows it, not by where the server keeps it', async t => {
  const settings = { 'storage.packages': { PATH: 'packages/{owner}/{repo}' } };
  const world = await World.open(t, { settings });
  const path = repository(world, 'alice/deep/er/site');
  writeFileSync(join(path, 'packed-refs'), 'x'.repeat(100));
  mkdirSync(join(world.directory, 'packages/alice/npm/left-pad'), { recursive: true });
  writeFileSync(join(world.directory, 'packages/alice/npm/left-pad/1.tgz'), 'bytes');
  await measure(world);
  const { text } = await world.must(200, 'GET', '/user/quota/packages', { as: 'alice' });
  t.match(JSON.parse(text), [{ name: 'alice/npm' }]);
  const report = await world.must(200, 'GET', '/user/quota/report', { as: 'alice' });
  t.match(report.json, { units: [{ name: 'alice/deep/er/site.git' }, { name: 'alice/npm' }] });
  for (const told of [text, report.text]) t.notMatch(told, world.directory);
  const whole = await world.must(200, 'GET', '/admin/quota/usage/alice');
  t.match(whole.text, path, 'administrators see where it is');
});

t.test('the check tells whether a start would be let through: in report mode always', async t => {
  const world = await World.open(t);
  await world.post('/admin/quota/groups', group);
  await world.put('/admin/quota/groups/free/users/acme');
  await world.report('acme', 'size:git:lfs', 101);
  const check = async (subject: string) =>
    await world.get(`/orgs/acme/quota/check?subject=${subject}`, { as: 'alice' });
  t.equal(await check('size:git:lfs'), false);
  t.equal(await check('size:repos:public'), true);
  world.reload({ quota: { MODE: 'report' } });
  t.equal(await check('size:git:lfs'), true);
  world.reload({ quota: { ENABLED: 'false' } });
  t.equal(await check('size:git:lfs'), true);
});
