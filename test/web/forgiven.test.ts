/**
 * Pages show what is stored, what of it is unreachable, and what counts; so do the API and the trusted gate.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { World } from '../api/world.ts';
import { until } from '../e2e/ask.ts';
import { must } from '../e2e/run.ts';
import { FakeWorker } from '../gate/fake-worker.ts';
import { barriersInAnyLook, isLoaded, reads, readsNoMore, Web } from './world.ts';

const world = await World.open(t, {
  settings: { quota: { GARBAGE: 'forgive', GARBAGE_MOST: '2M' }, 'quota.default': { TOTAL: '2M' } },
});
const path = join(world.directory, 'git/carol/app.git');
await must('git', ['init', '-q', '--bare', '--template=', path]);
await mkdir(join(path, 'objects/pack'), { recursive: true });
await writeFile(join(path, 'objects/pack/pack-0.pack'), Buffer.alloc(3_000_000));
await world.must(202, 'POST', '/admin/quota/scans', { body: {} });

const worker = await FakeWorker.connect(t, world.sockets.trusted);

async function says(unreachable: number): Promise<void> {
  const measured = {
    object_bytes: 3_000_000,
    reachable_bytes: 3_000_000 - unreachable,
    unreachable_bytes: unreachable,
  };
  const repository = { path, at: Date.now(), mark: '', measured, fault: null, collected: null };
  worker.report({ repositories: [repository] });
}

await until(async () => {
  await says(1_500_000);
  const { text } = await world.gate('GET', '/v1/usage?owner=carol');
  return text.includes('unreachable') ? true : null;
});
const web = await Web.open(t);

t.test('My usage and the page of an owner show the three figures, for everybody', async t => {
  const tab = await web.signedIn(world.url, await world.newToken('carol', ['all']), 'mine');
  await reads(tab, 'You can push and upload.', 'main');
  await reads(tab, '3 MB', '.figure');
  await reads(tab, 'Unreachable: 1.5 MB (no branch or tag needs it any more). Counted: 1.5 MB.');
  await reads(tab, '(1.5 MB more are stored, and do not count)', 'main');
  const admin = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'owners/carol');
  await reads(admin, 'Unreachable: 1.5 MB (no branch or tag needs it any more). Counted: 1.5 MB.');
  for (const [name, page] of [['mine', tab] as const, ['owner', admin] as const]) {
    await isLoaded(page);
    t.same(await barriersInAnyLook(page), [], name);
  }
  await says(2_500_000);
  await reads(
    tab,
    'At most 2 MB of it do not count; the rest counts until the next garbage collection.',
    'main',
  );
  await says(0);
  await reads(tab, 'You cannot add data.', 'main');
  await readsNoMore(tab, 'unreachable', 'main');
});

t.test('addresses that clients of Forgejo know have the unreachable part beside what is used', async t => {
  await says(1_500_000);
  const as = 'carol';
  const { json: own } = await world.must(200, 'GET', '/user/quota', { as });
  t.match(own, {
    used: { size: { repos: { private: Number } } },
    unreachable: { size: { repos: { private: 1_500_000 } } },
  });
  t.match(await world.get('/admin/users/carol/quota'), {
    unreachable: { size: { repos: { private: 1_500_000 } } },
  });
  const trusted = JSON.parse((await world.gate('GET', '/v1/usage?owner=carol')).text);
  t.match(trusted, { unreachable: { size: { repos: { private: 1_500_000 } } } });
  await says(0);
  t.notMatch(await world.get('/user/quota', { as }), { unreachable: Object });
});
