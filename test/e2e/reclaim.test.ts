/** The worker, the daemon and the commands: what is deleted is freed, and people see what takes the space. */

import { readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { reclaimRun, spaceAnswer } from '../../src/wire/index.ts';
import { served } from '../served.ts';
import { until } from './ask.ts';
import { launcher } from './daemon.ts';
import { run } from './run.ts';
import { Server } from './server.ts';
import { withWorker } from './with-worker.ts';

const hourMs = 3_600_000;

async function age(repository: string): Promise<void> {
  const old = new Date(Date.now() - 24 * hourMs);
  for (const entry of await readdir(join(repository, 'objects'), { recursive: true, withFileTypes: true }))
    if (entry.isFile()) await utimes(join(entry.parentPath, entry.name), old, old);
}

async function open(t: Test) {
  const server = await Server.open(t, {
    ini: { 'quota.default': { TOTAL: '10M' } },
    repositories: ['alice/one'],
  });
  const clone = await server.filled('alice/one', 2000);
  await clone.git('checkout', '-q', '-b', 'big');
  await clone.commit({ 'film.bin': 2_000_000 });
  await clone.git('push', '-q', 'origin', 'big');
  await server.usageIs('alice', bytes => bytes > 2_000_000);
  return { server, clone, path: server.path('alice/one') };
}

async function space(server: Server) {
  return spaceAnswer.parse(await server.admin('/admin/quota/space?user=alice'));
}

t.test('why names file and branch; deleting it shows as unreachable, and reclaim frees it', async t => {
  const { server, clone, path } = await open(t);
  const away = await server.softquota('why alice/one');
  t.equal(away.code, 69);
  t.match(away.stderr, /no worker runs on this host/);
  await withWorker(t, server, { run: 'gc' });
  // The daemon knows of the worker once it has reported.
  const why = await until(async () => {
    const told = await server.softquota('why alice/one');
    return told.code === 69 ? null : told;
  });
  t.equal(why.code, 0, why.stderr);
  t.match(why.stdout, /film\.bin +1 +no +2 MB/);
  t.match(why.stdout, /refs\/heads\/big +1 +2 MB/);
  t.match(why.stdout, / {2}git push origin --delete refs\/heads\/big\n/);
  t.match(why.stdout, / {2}git filter-repo --invert-paths --path film\.bin\n/);
  await clone.git('push', '-q', 'origin', '--delete', 'big');
  const after = await until(
    async () => {
      const found = await space(server);
      return found.unreachable_bytes > 2_000_000 ? found : null;
    },
    () => 'the deletion was not measured',
  );
  t.match(after.repositories, [{ name: 'alice/one.git', fault: null, collected: null }]);
  const young = await server.softquota('reclaim alice/one');
  t.equal(young.code, 0, young.stderr);
  t.match(young.stdout, /became unreachable recently/);
  // An old cruft pack does not tell when its objects were written.
  for (const name of await readdir(join(path, 'objects/pack')))
    if (name.endsWith('.mtimes')) await run('rm', ['-f', join(path, 'objects/pack', name)]);
  await age(path);
  const old = await server.softquota('reclaim --json');
  t.equal(old.code, 0, old.stderr);
  const [done] = reclaimRun.array().parse(JSON.parse(old.stdout));
  t.match(done, { state: 'done', repository: path, unreachable_bytes: 0 });
  t.ok((done?.freed_bytes ?? 0) > 2_000_000);
  await server.usageIs('alice', bytes => bytes < 100_000);
  await until(
    async () => ((await space(server)).unreachable_bytes === 0 ? true : null),
    () => 'what is unreachable was not measured again',
  );
  t.equal((await server.softquota('reclaim')).stdout, 'There is nothing to collect.\n');
  t.equal((await run('git', ['fsck', '--full'], { cwd: path })).code, 0);
  const events = await server.admin('/admin/quota/events?kind=reclaim');
  t.match(events, [{ kind: 'reclaim', owner: 'alice', repository: path, fault: null }]);
});

t.test('people read that more repositories may have garbage than one reclaim takes', async t => {
  const collected = (id: number) => ({
    id,
    repository: `/srv/${id}.git`,
    state: 'done',
    freed_bytes: 1000,
    unreachable_bytes: 0,
    message: null,
  });
  const said = async (count: number): Promise<string> => {
    const runs = Array.from({ length: count }, (_, at) => collected(at + 1));
    const port = await served(t, (_, response) => response.end(JSON.stringify(runs)));
    const env = { SOFTQUOTA_URL: `http://127.0.0.1:${port}` };
    return (await run(process.execPath, [launcher, 'reclaim'], { env })).stdout;
  };
  t.equal(await said(1), '/srv/1.git: 1 kB freed\n');
  t.match(
    await said(1000),
    /\nThose were the 1,000 .* For others, run it again after \[reclaim\] EXPIRE\.\n$/,
  );
});
