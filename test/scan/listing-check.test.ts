/** Directories of loose objects are read without being asked what they are, where that does no harm. */

import { execFileSync } from 'node:child_process';
import fs, { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { noCache } from '../../src/scan/cache.ts';
import { Mounts } from '../../src/scan/mounts.ts';
import type { WalkRequest } from '../../src/scan/outcome.ts';
import { numberedTask } from '../../src/scan/walker-handle.ts';
// With a clock by which what was made just now is an hour old.
import { passTick } from './late.ts';
import { bareRepository, fill, temporary, unitAt } from './world.ts';

const asked: string[] = [];
const { lstatSync } = fs;
Object.assign(fs, {
  lstatSync: (...given: readonly unknown[]) => {
    asked.push(String(given[0]));
    return Reflect.apply(lstatSync, fs, given);
  },
});
syncBuiltinESMExports();
const { walk } = await import('../../src/scan/walk.ts');

interface World {
  readonly outside: string;
  /** In the repository. */
  path(...names: readonly string[]): string;
  /** Walks, with something that happens before the directory of that number is visited. */
  walk(given?: Partial<WalkRequest>, number?: number, happens?: () => void): ReturnType<typeof walk>;
  /** The directories of loose objects that were asked what they are. */
  asked(): readonly string[];
}

const fanOut = ['12', '34', '56', '78'];
const bytes = fanOut.length * 10 + 21;

function world(t: Test): World {
  const root = temporary(t);
  const repository = join(root, 'a.git');
  bareRepository(repository);
  for (const name of fanOut) fill(join(repository, 'objects', name, 'object'), 10);
  const outside = join(root, 'outside');
  fill(join(outside, 'large'), 1_000_000);
  const request = {
    unit: unitAt(repository, 'repos'),
    inner: [],
    exclude: new Set<string>(),
    measure: 'apparent',
    knownBytes: null,
    believesListing: true,
  } as const;
  return {
    outside,
    path: (...names) => join(repository, ...names),
    walk: (given = {}, number = 0, happens = () => {}) => {
      passTick(root);
      asked.length = 0;
      return walk({ ...request, ...given }, noCache, ({ directories }) => {
        if (directories === number) happens();
        return true;
      });
    },
    asked: () => asked.filter(path => /objects\/[0-9a-f]{2}$/.test(path)),
  };
}

t.test('none of them is asked before it is read, and all count', async t => {
  const { walk, asked } = world(t);
  t.match(walk(), { outcome: 'measured', bytes, files: 5, directories: 9 });
  t.equal(asked().length, fanOut.length, 'only once, at the end, for signs of a repack');
  t.match(walk({ believesListing: false }), { outcome: 'measured', bytes, files: 5, directories: 9 });
  t.equal(asked().length, 2 * fanOut.length, 'unless the listing is not to be believed');
  t.match(walk({ measure: 'allocated' }), { outcome: 'measured' });
  t.equal(asked().length, 2 * fanOut.length, 'or the blocks of directories count');
});

t.test('whatever takes the place of one, what was read for it never counts', async t => {
  const { path, outside, walk } = world(t);
  const directories = 9;
  const replace = (name: string) => {
    renameSync(path('objects', name), path('away'));
    symlinkSync(outside, path('objects', name));
  };
  const putBack = (name: string) => {
    unlinkSync(path('objects', name));
    renameSync(path('away'), path('objects', name));
  };
  for (const name of fanOut) {
    for (let number = 1; number < directories; number++) {
      const outcome = walk({}, number, () => replace(name));
      if ('bytes' in outcome)
        t.ok(outcome.bytes <= bytes, `${name} becomes a link before directory ${number}`);
      else t.same(outcome, { outcome: 'vanished' }, `${name} becomes a link before directory ${number}`);
      putBack(name);
    }
  }
  let number = 0;
  const back = walk({}, 4, () => {
    replace('12');
    number += 1;
  });
  putBack('12');
  t.equal(number, 1);
  t.same(back, { outcome: 'vanished' });
  const swapped = walk({}, 5, () => {
    replace('34');
    putBack('34');
  });
  t.same(swapped, { outcome: 'vanished' }, 'also where it is back before the end');
  t.match(walk(), { outcome: 'measured', bytes });
});

t.test('of a directory that has changed just now no listing is believed', async t => {
  const { path, outside, walk, asked } = world(t);
  const now = Date.now() / 1000;
  for (const changedAt of [now, now + 3600]) {
    utimesSync(path('objects'), changedAt, changedAt);
    const outcome = walk({}, 4, () => {
      for (const name of fanOut) rmSync(path('objects', name), { recursive: true });
      for (const name of fanOut) symlinkSync(outside, path('objects', name));
    });
    t.match(outcome, { outcome: 'measured', bytes: 21, files: 1 });
    t.ok(asked().length > 0);
    for (const name of fanOut) unlinkSync(path('objects', name));
    for (const name of fanOut) mkdirSync(path('objects', name));
  }
});

t.test('a unit is known to be small before its listing is believed', async t => {
  const known = { knownBytes: () => 5, knownFiles: () => 7 };
  const task = { unit: unitAt('/srv/a.git', 'repos'), inner: [] };
  const filesOf = (...given: Parameters<typeof numberedTask>) => numberedTask(...given).knownFiles;
  t.equal(filesOf(1, task, false, known), 7);
  t.equal(filesOf(1, task, true, known), null, 'a walker died of it');
  t.equal(filesOf(1, { path: '/srv/a.git' }, false, known), null, 'somebody said that it had changed');
  t.equal(filesOf(1, { ...task, trustsSignature: true }, false, known), null, 'it is compared, not read');
  t.equal(filesOf(1, task, false, { knownBytes: () => undefined }), null);
});

t.test('of a file system whose times others tell no listing is believed', async t => {
  const behind = temporary(t);
  const at = temporary(t);
  execFileSync('bindfs', [behind, at]);
  t.teardown(() => execFileSync('umount', [at]));
  const mounts = new Mounts();
  t.equal(mounts.isLocal(behind), false, 'nor where the mounts are not known');
  await mounts.refresh();
  t.equal(mounts.isLocal(behind), true);
  t.equal(mounts.isLocal(join(at, 'alice/a.git')), false);
});
