import { join } from 'node:path';
import t, { type Test } from 'tap';
import { resolveLayout } from '../../src/layout/index.ts';
import { openLookups } from '../../src/scan/lookups.ts';
import { fill, storage, temporary } from './world.ts';

function world(t: Test, mostDesks?: number) {
  const root = temporary(t);
  fill(join(root, 'alice/store/file'), 1);
  const storages = [storage('lfs', `${root}/{owner}/store`)];
  const grounds = {
    storages,
    exclude: [],
    measure: 'apparent',
    layout: resolveLayout(storages, []),
  } as const;
  const code = new URL('odd-desk.ts', import.meta.url);
  const lookups = openLookups({ code, ...(mostDesks === undefined ? {} : { mostDesks }) });
  t.teardown(() => lookups.close(4000));
  const locate = (path: string, deadlineMs: number) => lookups.locate(grounds, join(root, path), deadlineMs);
  return { root, lookups, locate };
}

t.test('the unit of a path is looked up off the main thread', async t => {
  const { locate, root } = world(t);
  t.match(await locate('alice/store/file', 5000), {
    found: 'unit',
    exists: true,
    unit: { path: join(root, 'alice/store'), owner: 'alice' },
  });
  t.match(await locate('bob/store', 5000), { found: 'unit', exists: false, unit: { owner: 'bob' } });
  t.match(await locate('alice/other', 5000), { found: 'none' });
  const many = await Promise.all(Array.from({ length: 200 }, () => locate('alice/store/file', 5000)));
  t.ok(many.every(located => located.found === 'unit'));
});

t.test('a disk that hangs keeps nobody waiting beyond the deadline, and no other question', async t => {
  const { locate, lookups } = world(t);
  await locate('alice/store', 5000);
  const hangs = locate('alice/store/hang', 500);
  const begun = performance.now();
  t.match(await locate('alice/store/file', 5000), { found: 'unit' });
  t.ok(performance.now() - begun < 2000, 'another question is answered meanwhile');
  await t.rejects(hangs, { code: 'not_ready', message: /within 500 ms/ });
  t.equal(lookups.hanging(), 1);
  t.match(await locate('alice/store/file', 5000), { found: 'unit' });
});

t.test('where all desks hang every question is told so at once, until one comes back', async t => {
  const { locate, lookups } = world(t, 2);
  const hanging = [1, 2].map(() => locate('alice/store/hang', 1500));
  for (const lookup of hanging) await t.rejects(lookup, { code: 'not_ready' });
  t.equal(lookups.hanging(), 2);
  const begun = performance.now();
  await t.rejects(locate('alice/store', 5000), { code: 'not_ready', message: /does not answer/ });
  t.ok(performance.now() - begun < 100);
  while (lookups.hanging() === 2) await new Promise(setImmediate);
  t.match(await locate('alice/store', 5000), { found: 'unit' });
});

t.test('closing says how many threads had to be left', async t => {
  const { locate, lookups } = world(t);
  await locate('alice/store', 5000);
  await t.rejects(locate('alice/store/hang', 500), { code: 'not_ready' });
  t.equal(await lookups.close(100), 1);
  await t.rejects(locate('alice/store', 5000), { code: 'not_ready' });
});
