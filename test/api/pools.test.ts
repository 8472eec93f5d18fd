/** Pools of groups, and repositories near their limits, over the API. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { apply } from './any-policy.ts';
import { measure, repository } from './people.ts';
import { World } from './world.ts';

t.setTimeout(240_000);

const usageOf = (group: string) => `/admin/quota/groups/${encodeURIComponent(group)}/usage`;

async function withPools(t: Parameters<typeof World.open>[0]): Promise<World> {
  const world = await World.open(t);
  await world.report('alice', 'size:git:lfs', 60);
  await world.report('alice', 'size:assets:packages:all', 7);
  await world.report('bob', 'size:git:lfs', 50);
  await world.report('carol', 'size:assets:packages:all', 90);
  await apply(world, {
    rules: [
      { name: 'together', limit: 100, subjects: ['size:git:all'], per: 'group' },
      { name: 'packages', limit: 100, subjects: ['size:assets:all'], per: 'group', mode: 'report' },
      { name: 'each', limit: 1000, subjects: ['size:all'] },
    ],
    groups: [
      { name: 'lab/é', rules: ['together', 'each', 'packages'], users: ['carol', 'bob', 'alice'] },
      { name: 'plain', rules: ['each'], users: ['bob', 'acme'] },
      { name: 'empty', rules: ['together'], users: [] },
    ],
  });
  return world;
}

const near = { limit: 100, percent: 97, state: 'near' };
const pools = [
  { rule: 'packages', subjects: ['size:assets:all'], ...near, used: 97, mode: 'report' },
  { rule: 'together', subjects: ['size:git:all'], ...near, used: 110, percent: 110, state: 'over' },
];

/** For those who only look. */
const world = await withPools(t);

t.test('a group has its pools, and the members by what they use of the first', async t => {
  t.strictSame(await world.get(usageOf('lab/é')), {
    group: 'lab/é',
    pools,
    count: 3,
    members: [
      { owner: 'carol', used: { packages: 90, together: 0 } },
      { owner: 'alice', used: { packages: 7, together: 60 } },
      { owner: 'bob', used: { packages: 0, together: 50 } },
    ],
  });
  t.strictSame(await world.get(usageOf('plain')), {
    group: 'plain',
    pools: [],
    count: 2,
    members: [
      { owner: 'acme', used: {} },
      { owner: 'bob', used: {} },
    ],
  });
  t.match(await world.get(usageOf('empty')), { pools: [{ used: 0, state: 'ok' }], members: [] });
  await world.must(404, 'GET', usageOf('nobody'));
  await world.must(403, 'GET', usageOf('plain'), { as: 'alice' });
});

t.test('a group has a history, against the limit that is nearest', async t => {
  const path = '/admin/quota/history';
  const ask = (query: string) => world.get(`${path}?range=day&${query}`);
  t.match(await ask(`group=${encodeURIComponent('lab/é')}`), { points: [], growth: null });
  t.match(await ask('group=plain'), { points: [], growth: null });
  t.match(await world.fault(404, 'GET', `${path}?group=none`), /none/);
  await world.must(403, 'GET', `${path}?group=plain`, { as: 'alice' });
});

t.test('members come a page at a time', async t => {
  const { json, headers } = await world.must(200, 'GET', `${usageOf('lab/é')}?page=2&limit=2`);
  t.match(json, { members: [{ owner: 'bob' }], pools: [{}, { used: 110 }] });
  t.equal(headers['x-total-count'], '3');
  t.match(headers.link, /groups\/lab%2F%C3%A9\/usage\?page=1&limit=2>; rel="prev"/);
  t.match(await world.fault(422, 'GET', `${usageOf('plain')}?limit=1001`), /limit: expected/);
});

t.test('owners see the pools that they are in, with their share, and no other member', async t => {
  const world = await withPools(t);
  const shares = [7, 60];
  const own = { pools: pools.map((pool, at) => ({ group: 'lab/é', ...pool, share: shares[at] })) };
  const json = await world.get('/user/quota', { as: 'alice' });
  t.match(json, own);
  t.notMatch(JSON.stringify(json), /bob|carol/);
  t.match(await world.get('/admin/users/alice/quota'), own);
  for (const path of ['/orgs/acme/quota', '/admin/users/admin1/quota'])
    t.notOk(Object.hasOwn(Object(await world.get(path)), 'pools'), `${path}: as Forgejo's`);
  await world.put('/admin/quota/groups/lab%2F%C3%A9/users/acme');
  t.match(await world.get('/orgs/acme/quota', { as: 'alice' }), { pools: [{ share: 0 }, { share: 0 }] });
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const body = { bytes: 50, until, why: 'thesis' };
  await world.post('/admin/users/bob/quota/allowances', body);
  t.match(await world.get('/user/quota', { as: 'bob' }), { pools: [{}, { limit: 150, state: 'ok' }] });
  t.match(await world.get(usageOf('lab/é')), { pools: [{}, { limit: 100, state: 'over' }] });
});

const list = '/admin/quota/usage?per=repository';

async function withRepositories(t: Parameters<typeof World.open>[0]): Promise<World> {
  const world = await World.open(t);
  for (const [name, bytes] of [
    ['alice/app', 950],
    ['alice/site', 29],
    ['alice/old', 1000],
    ['bob/app', 2000],
    ['bob/tiny', 30],
    ['carol/app', 5000],
  ] as const) {
    writeFileSync(join(repository(world, name), 'objects/data'), Buffer.alloc(bytes - 21));
  }
  await measure(world);
  await world.report('alice', 'size:git:lfs', 110, 'alice/app');
  await apply(world, {
    rules: [
      { name: 'repository', limit: 1000, subjects: ['size:git:all'], per: 'repository' },
      { name: 'large', limit: 1e6, subjects: ['size:git:all'], per: 'repository' },
      { name: 'hint', limit: 5, subjects: ['size:git:all'], per: 'repository', mode: 'warn' },
    ],
    groups: [
      { name: 'free', rules: ['repository'], users: ['alice'] },
      { name: 'more', rules: ['hint', 'large'], users: ['bob'] },
    ],
  });
  return world;
}

t.test('repositories with a limit of their own stand by their percentage', async t => {
  const world = await withRepositories(t);
  const common = { owner: 'alice', limit: 1000, group: 'free', rule: 'repository' };
  const bobs = { owner: 'bob', limit: 1e6, group: 'more', rule: 'large', percent: 0, state: 'near' };
  const rows = [
    { unit: 'alice/app', ...common, used: 1060, percent: 106, state: 'over' },
    { unit: 'alice/old', ...common, used: 1000, percent: 100, state: 'near' },
    { unit: 'alice/site', ...common, used: 29, percent: 2, state: 'ok' },
    { unit: 'bob/app', ...bobs, used: 2000 },
    { unit: 'bob/tiny', ...bobs, used: 30 },
  ];
  const { json, headers } = await world.must(200, 'GET', list);
  t.strictSame(json, rows);
  t.equal(headers['x-total-count'], '5');
  t.strictSame(await world.get(`${list}&state=over,%20near&q=APP`), [rows[0], rows[3]]);
  const second = await world.must(200, 'GET', `${list}&state=near&page=2&limit=1`);
  t.strictSame(second.json, [rows[3]]);
  t.match(second.headers.link, /per=repository&state=near&page=3&limit=1>; rel="next"/);
  t.strictSame(await world.get(`${list}&owner=BOB`), rows.slice(3));
  t.strictSame(await world.get(`${list}&owner=bo`), [], 'an owner is meant by the whole name');
  t.match(
    await world.get('/user/quota/explain?subject=size:repos:private', { as: 'alice' }),
    { bounds: [{ per: 'repository', verdict: 'not_asked', limit: 1000 }] },
    'explain knows no repository there',
  );
  for (const query of ['per=owner&', '']) {
    const ofOwners = await world.get(`/admin/quota/usage?${query}sort=name&q=b`);
    t.match(ofOwners, [{ name: 'bob', total: 2030 }]);
  }
  await world.must(403, 'GET', list, { as: 'alice' });
});
