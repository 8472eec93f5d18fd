/** Fill of the disks: asked off the main thread, and one that hangs costs no other its answer. */

import { execFileSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { resolveLayout } from '../../src/layout/index.ts';
import { disksOf } from '../../src/scan/scanner.ts';
import { diskThreads } from './hanging.ts';
import { fill, storage, temporary } from './world.ts';

const code = new URL('odd-io-worker.ts', import.meta.url);

function world(t: Test, names: readonly string[]) {
  const root = temporary(t);
  const storages = names.map(name => {
    fill(join(root, name, 'alice/file'), 1);
    return storage(name.startsWith('packages') ? 'packages' : 'lfs', `${root}/${name}/{owner}`);
  });
  const threads = diskThreads({ code: { io: code } });
  t.teardown(() => threads.close(60_000));
  const resolved = resolveLayout(storages, []);
  // Each is asked about alone, as if they were on disks of their own.
  const roots = resolved.roots.map((root, index) => ({ ...root, device: BigInt(index) }));
  const layout = { ...resolved, roots };
  const spaces = (of: typeof layout, deadlineMs: number) => disksOf(of, threads, deadlineMs);
  return { root, threads, spaces, layout };
}

t.test('file systems are told once, with size, room and what is stored on them', async t => {
  const { root, spaces, layout } = world(t, ['lfs', 'packages']);
  const { bsize, blocks } = statfsSync(root);
  const found = await spaces(layout, 60_000);
  t.match(found, [
    {
      path: join(root, 'lfs'),
      leaves: ['size:git:lfs', 'size:assets:packages:all'],
      sizeBytes: bsize * blocks,
    },
  ]);
  t.ok(found[0] !== undefined && Number(found[0].freeBytes) <= bsize * blocks);
});

t.test('a disk that hangs is told as unknown until it answers again, and all others answer', async t => {
  const { root, spaces, layout } = world(t, ['hang', 'packages']);
  const pipe = join(root, 'hang-release');
  execFileSync('mkfifo', [pipe]);
  const letGo = async () => {
    const opened = await open(pipe, 'r+');
    t.teardown(() => opened.close());
  };
  t.teardown(letGo);
  const unknown = { path: join(root, 'hang'), sizeBytes: null, freeBytes: null };
  const known = { path: join(root, 'packages'), sizeBytes: Number, freeBytes: Number };
  // A thread that is only being started when the deadline comes does not hang; it is asked again.
  let found = await spaces(layout, 2000);
  while (found[1]?.sizeBytes == null) found = await spaces(layout, 2000);
  t.match(found, [unknown, known]);
  const begun = performance.now();
  t.match(await spaces(layout, 60_000), [unknown, known]);
  t.ok(performance.now() - begun < 30_000, 'nobody waits for it a second time');
  await letGo();
  do found = await spaces(layout, 60_000);
  while (found.some(({ sizeBytes }) => sizeBytes === null));
  t.equal(found.length, 1, 'it is the same disk after all');
});

t.test('a disk with many links is asked once, also where the first of its directories is gone', async t => {
  const { root, threads, layout } = world(t, ['lfs']);
  const places = Array.from({ length: 50 }, (_, index) => `${root}/${index}`);
  const [of] = layout.roots;
  if (of === undefined) throw new Error('a root is missing');
  for (const place of places.slice(1)) fill(join(place, 'file'), 1);
  const links = new Map(places.map(path => [`${path}.link`, { ...of, path, device: 7n }]));
  let asked = 0;
  const ask: typeof threads.ask = (...given) => {
    asked += 1;
    return threads.ask(...given);
  };
  const isWaitedFor = (path: string) => threads.isWaitedFor(path);
  const [disk] = await disksOf({ ...layout, links }, { ask, isWaitedFor }, 60_000);
  t.match(disk, { sizeBytes: Number, roots: [of.path, ...places] });
  t.equal(asked, 2);
});

t.test('after the end nothing is asked any more', async t => {
  const { threads, spaces, layout } = world(t, ['lfs']);
  await threads.close(60_000);
  t.match(await spaces(layout, 60_000), [{ sizeBytes: null, freeBytes: null }]);
});
