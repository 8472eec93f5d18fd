/** Space in repositories, as the worker reports it and administrators and owners see it. */

import { join } from 'node:path';
import t from 'tap';
import { reclaimRun, spaceAnswer } from '../../src/wire/index.ts';
import { until } from '../e2e/ask.ts';
import { FakeWorker } from '../gate/fake-worker.ts';
import { measure, repository } from './people.ts';
import { World } from './world.ts';

function figures(path: string, unreachable: number, collected: object | null = null) {
  const measured = {
    object_bytes: 2000,
    reachable_bytes: 2000 - unreachable,
    unreachable_bytes: unreachable,
  };
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
  const connect = () => FakeWorker.connect(t, world.sockets.trusted);
  /** Resolves once the daemon has taken the report. */
  const says = async (worker: FakeWorker, repositories: readonly object[]) => {
    worker.report({ repositories });
    await worker.taken();
  };
  const space = async (query: string, as: 'admin1' | 'alice' = 'admin1') => {
    const address = as === 'admin1' ? `/admin/quota/space?${query}` : `/user/quota/space?${query}`;
    return spaceAnswer.parse(await world.get(address, { as }));
  };
  return { world, path, connect, says, space };
}

t.test('figures are shown to administrators and to the owner, who learns no path', async t => {
  const { world, path, connect, says, space } = await open(t);
  t.match(await space('user=alice'), {
    stored_bytes: 21,
    unreachable_bytes: 0,
    repositories: [{ name: 'alice/one.git', unreachable_bytes: null, measured_at: null }],
    state: 'none',
  });
  await says(await connect(), [figures(path, 10)]);
  for (const as of ['admin1', 'alice'] as const) {
    const found = await space(as === 'admin1' ? 'user=alice' : '', as);
    t.match(found, {
      unreachable_bytes: 10,
      repositories: [{ reachable_bytes: 1990, unreachable_bytes: 10 }],
    });
    t.notMatch(JSON.stringify(found), world.directory);
  }
  await world.must(403, 'GET', '/admin/quota/space?user=alice', { as: 'bob' });
  await world.must(404, 'GET', '/orgs/acme/quota/space', { as: 'bob' });
  await world.must(403, 'GET', '/orgs/acme/quota/space', { as: 'carol' });
  await world.must(404, 'GET', '/user/quota/space?repo=two', { as: 'alice' });
});

t.test('a repository is looked through by the worker, once for all who ask', async t => {
  const { world, path, connect, says, space } = await open(t);
  const without = await world.call('GET', '/admin/quota/space?user=alice&repo=one');
  t.match(without, { status: 503, text: /no worker runs on this host/ });
  const own = await world.call('GET', '/user/quota/space?repo=one', { as: 'alice' });
  t.match(own, { status: 503, text: /deleting branches and tags frees space all the same/ });
  t.notMatch(own.text, /systemctl/, 'who cannot start one reads no command that starts it');
  const worker = await connect();
  await says(worker, []);
  t.match(await space('repo=one', 'alice'), { state: 'running', report: null });
  t.match(await space('user=alice&repo=alice/one'), { state: 'running' });
  const task = await worker.task();
  t.match(task, { kind: 'space', path });
  worker.send({ result: { id: task.id, value: report } });
  await says(worker, []);
  t.match(await space('repo=one.git', 'alice'), { state: 'done', report });
  // A push makes it old.
  await world.gate('POST', '/v1/changed', { path });
  t.match(await worker.next('pushed'), { pushed: [path] });
  t.match(await space('repo=one', 'alice'), { state: 'running' });
  const again = await worker.task();
  worker.send({ result: { id: again.id, value: { ...report, objects: -1 } } });
  await says(worker, []);
  t.match(await space('repo=one', 'alice'), { state: 'failed', message: /another version/ });
});

t.test('a collection is asked for, followed, and recorded', async t => {
  const { world, path, connect, says } = await open(t);
  const start = (repository: string) => world.call('POST', '/admin/quota/reclaims', { body: { repository } });
  t.equal((await start('alice/one')).status, 503);
  const worker = await connect();
  await says(worker, [figures(path, 10)]);
  t.equal((await start('alice/none')).status, 404);
  await world.must(403, 'POST', '/admin/quota/reclaims', { as: 'bob', body: {} });
  t.match((await start('alice/one')).json, [{ id: 1, state: 'running', repository: 'alice/one.git' }]);
  t.match((await start(path)).json, [{ id: 1 }], 'one at a time');
  const task = await worker.task();
  t.match(task, { kind: 'reclaim', path });
  const at = Date.now() + 1000;
  await says(worker, [figures(path, 0, { at, freed_bytes: 2_000_000, fault: null })]);
  await says(worker, [figures(path, 0, { at, freed_bytes: 2_000_000, fault: null })]);
  worker.send({ result: { id: task.id, value: { freed_bytes: 2e6, unreachable_bytes: 0 } } });
  await says(worker, []);
  t.match(await world.get('/admin/quota/reclaims'), [
    { id: 1, state: 'done', freed_bytes: 2_000_000, unreachable_bytes: 0 },
  ]);
  await says(worker, [figures(path, 0, { at: at + 1, freed_bytes: 0, fault: 'git repack: no space' })]);
  const events = await until(async () => {
    const json = await world.get('/admin/quota/events?kind=reclaim');
    return Array.isArray(json) && json.length === 2 ? json : null;
  });
  t.match(events, [
    { owner: 'alice', repository: path, fault: 'git repack: no space' },
    { freed: 2_000_000, fault: null },
  ]);
});

t.test('without a name, those are collected that the worker has measured and may collect', async t => {
  const { world, path, connect, says } = await open(t);
  const all = () => world.call('POST', '/admin/quota/reclaims', { body: {} });
  t.match(await all(), { status: 503, text: /no worker runs on this host/ });
  const worker = await connect();
  await says(worker, []);
  t.match(await all(), { status: 503, text: /has measured no repository yet/ });
  const lent = figures(join(world.directory, 'git/bob/two.git'), 10);
  await says(worker, [figures(path, 0), { ...lent, measured: { ...lent.measured, lent: true } }]);
  t.match(await all(), { status: 202, json: [] }, 'nothing is deleted where objects are lent');
  await says(worker, [figures(path, 10)]);
  t.match((await all()).json, [{ repository: path }]);
});

t.test('of very many repositories those with the most garbage are collected', async t => {
  const world = await World.open(t);
  const paths = Array.from({ length: 1001 }, (_, at) => repository(world, `alice/${at}`));
  await measure(world);
  const worker = await FakeWorker.connect(t, world.sockets.trusted);
  for (let from = 0; from < paths.length; from += 200) {
    const repositories = paths.slice(from, from + 200).map((path, at) => figures(path, from + at + 1));
    worker.report({ repositories });
  }
  await worker.taken();
  const begun = reclaimRun.array().parse(await world.post('/admin/quota/reclaims', {}));
  t.same(
    begun.map(({ repository: name }) => name),
    paths.toReversed().slice(0, 1000),
  );
});
