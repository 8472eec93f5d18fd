/** What the worker says of repositories, as administrators and owners see it. */

import t from 'tap';
import { spaceAnswer } from '../../src/wire/index.ts';
import { until } from '../e2e/ask.ts';
import { measure, repository } from './people.ts';
import { World } from './world.ts';

const worker = { version: 'x', pid: 1, uid: 1, hooks: null };

function figures(path: string, unreachable: number, collected: object | null = null) {
  const measured = { object_bytes: 100, reachable_bytes: 100 - unreachable, unreachable_bytes: unreachable };
  return { path, at: Date.now(), measured, fault: null, collected };
}

const report = {
  object_bytes: 100,
  reachable_bytes: 90,
  unreachable_bytes: 10,
  objects: 3,
  packs: 1,
  loose_objects: 0,
  kept_bytes: 0,
  leftover_bytes: 0,
  paths: [{ path: 'a', bytes: 5, versions: 1, in_default_branch: true, frees: 33, commands: ['git x'] }],
  refs: [],
  namespaces: [],
  lfs: null,
  cut: false,
};

async function open(t: Parameters<typeof World.open>[0]) {
  const world = await World.open(t);
  const path = repository(world, 'alice/one');
  repository(world, 'bob/two');
  await measure(world);
  const says = (repositories: readonly object[]) =>
    world.gate('POST', '/v1/worker', { report: { ...worker, repositories } });
  const tasks = async () => JSON.parse((await world.gate('GET', '/v1/worker/tasks?wait=20')).text);
  const space = async (query: string, as: 'admin1' | 'alice' = 'admin1') => {
    const address = as === 'admin1' ? `/admin/quota/space?${query}` : `/user/quota/space?${query}`;
    return spaceAnswer.parse((await world.must(200, 'GET', address, { as })).json);
  };
  return { world, path, says, tasks, space };
}

t.test('figures are shown to administrators and to the owner, who learns no path', async t => {
  const { world, path, says, space } = await open(t);
  t.match(await space('user=alice'), {
    stored_bytes: 21,
    unreachable_bytes: 0,
    repositories: [{ name: 'alice/one.git', unreachable_bytes: null, measured_at: null }],
    state: 'none',
  });
  await says([figures(path, 10)]);
  for (const as of ['admin1', 'alice'] as const) {
    const found = await space(as === 'admin1' ? 'user=alice' : '', as);
    t.match(found, { unreachable_bytes: 10, repositories: [{ reachable_bytes: 90, unreachable_bytes: 10 }] });
    t.notMatch(JSON.stringify(found), world.directory);
  }
  t.equal((await world.call('GET', '/admin/quota/space?user=alice', { as: 'bob' })).status, 403);
  t.equal((await world.call('GET', '/orgs/acme/quota/space', { as: 'bob' })).status, 404);
  t.equal((await world.call('GET', '/orgs/acme/quota/space', { as: 'carol' })).status, 403);
  t.equal((await world.call('GET', '/user/quota/space?repo=two', { as: 'alice' })).status, 404);
});

t.test('a repository is looked through by the worker, once for all who ask', async t => {
  const { world, path, says, tasks, space } = await open(t);
  const without = await world.call('GET', '/admin/quota/space?user=alice&repo=one');
  t.match(without, { status: 503, text: /no worker runs on this host/ });
  await says([]);
  t.match(await space('repo=one', 'alice'), { state: 'running', report: null });
  t.match(await space('user=alice&repo=alice/one'), { state: 'running' });
  const { asked } = await tasks();
  t.match(asked, [{ kind: 'space', path }]);
  t.equal(asked.length, 1);
  await world.gate('POST', '/v1/worker/results', { id: asked[0].id, outcome: { result: report } });
  t.match(await space('repo=one.git', 'alice'), { state: 'done', report });
  // A push makes it old.
  await world.gate('POST', '/v1/changed', { path });
  t.match(await space('repo=one', 'alice'), { state: 'running' });
  const again = await tasks();
  t.same(again.pushed, [path]);
  const result = { ...report, objects: -1 };
  await world.gate('POST', '/v1/worker/results', { id: again.asked[0].id, outcome: { result } });
  t.match(await space('repo=one', 'alice'), { state: 'failed', message: /another version/ });
});

t.test('a collection is asked for, followed, and recorded', async t => {
  const { world, path, says, tasks } = await open(t);
  const start = (repository: string) => world.call('POST', '/admin/quota/reclaims', { body: { repository } });
  t.equal((await start('alice/one')).status, 503);
  await says([figures(path, 10)]);
  t.equal((await start('alice/none')).status, 404);
  t.equal((await world.call('POST', '/admin/quota/reclaims', { as: 'bob', body: {} })).status, 403);
  t.match((await start('alice/one')).json, [{ id: 1, state: 'running', repository: 'alice/one.git' }]);
  t.match((await start(path)).json, [{ id: 1 }], 'one at a time');
  const { asked } = await tasks();
  t.match(asked, [{ kind: 'reclaim', path }]);
  const at = Date.now() + 1000;
  await says([figures(path, 0, { at, freed_bytes: 2_000_000, fault: null })]);
  await says([figures(path, 0, { at, freed_bytes: 2_000_000, fault: null })]);
  await world.gate('POST', '/v1/worker/results', {
    id: asked[0].id,
    outcome: { result: { freed_bytes: 2e6, unreachable_bytes: 0 } },
  });
  t.match((await world.must(200, 'GET', '/admin/quota/reclaims')).json, [
    { id: 1, state: 'done', freed_bytes: 2_000_000, unreachable_bytes: 0 },
  ]);
  await says([figures(path, 0, { at: at + 1, freed_bytes: 0, fault: 'git repack: no space' })]);
  const events = await until(async () => {
    const { json } = await world.must(200, 'GET', '/admin/quota/events?kind=reclaim');
    return Array.isArray(json) && json.length === 2 ? json : null;
  });
  t.match(events, [
    { owner: 'alice', repository: path, fault: 'git repack: no space' },
    { freed: 2_000_000, fault: null },
  ]);
});
