/**
 * The worker, the daemon and the commands together: what is deleted is freed, and people see what takes the
 * space, also in the refusal of a push.
 */

import { readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { reclaimRun, spaceAnswer } from '../../src/wire/index.ts';
import { served } from '../served.ts';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
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
  const { text } = await server.ask('admin', '/api/v1/admin/quota/space?user=alice');
  return spaceAnswer.parse(JSON.parse(text));
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
  const { text } = await server.ask('admin', '/api/v1/admin/quota/events?kind=reclaim');
  t.match(JSON.parse(text), [{ kind: 'reclaim', owner: 'alice', repository: path, fault: null }]);
});

/** An owner over a limit of 4 MB, with a branch `big` that alone holds half of it. */
async function openRefusing(t: Test, ini: Readonly<Record<string, string>> = {}) {
  const server = await Server.open(t, {
    ini: {
      'quota.default': { TOTAL: '4M' },
      server: { ROOT_URL: 'https://quota.example/', ...ini },
    },
    repositories: ['alice/one', 'bob/two'],
  });
  const clone = await Clone.of(server, server.path('alice/one'));
  await clone.commit({ readme: 2000, 'two\u001b[31m\u202e.bin': 1_500_000 });
  await clone.git('push', '-q', 'origin', 'main');
  await clone.git('checkout', '-q', '-b', 'big');
  await clone.commit({ 'film.bin': 3_000_000 });
  await clone.git('push', '-q', 'origin', 'big');
  await server.usageIs('alice', bytes => bytes > 4_000_000);
  const push = async () => {
    await clone.git('checkout', '-q', '-B', 'more', 'main');
    await clone.commit(1000);
    return clone.push(['more']);
  };
  /** Resolves with the lines of a refused push that match. */
  const refusal = (isIt: (lines: readonly string[]) => boolean) =>
    until(
      async () => {
        const lines = (await push()).said.split('\n');
        return isIt(lines) ? lines : null;
      },
      () => 'no refusal says so',
    );
  return { server, clone, push, refusal };
}

t.test('the refusal names the first three, what each frees, and the page, before whom to ask', async t => {
  const { server, push, refusal } = await openRefusing(t);
  const before = await push();
  t.equal(before.code, 1);
  t.notMatch(before.stderr, /film\.bin/);
  await withWorker(t, server, { run: 'measure' });
  const lines = await refusal(found => found.some(line => line.includes('film.bin')));
  t.match(lines, [
    /^Quota exceeded: alice uses 4\.\d+ MB of 4 MB/,
    'Removing these frees the most space in this repository:',
    '    3 MB  branch big',
    '    3 MB  file film.bin',
    '  1.5 MB  file two\\u{1b}[31m\\u{202e}.bin',
    'How to free it: https://quota.example/space/alice?repo=one',
    /^This repository: 4\.\d+ MB\. Nothing from this push was stored/,
  ]);
  t.equal(lines.at(-1), 'To ask for more space: https://git.example/quota');
  // Users who may only ask the gate learn nothing of it.
  const { text } = await server.ask('gate', `/v1/check?path=${server.path('alice/one')}`, {
    accept: 'text/plain',
  });
  t.notMatch(text, /film|big/);
  const kept = await readdir(server.path('alice/one'));
  t.same(
    kept.filter(name => name.startsWith('softquota')),
    [],
    'nothing of it is in the repository',
  );
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
