/** The signature of a unit: what it stands for, and when it is not taken. */

import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { WalkRequest } from '../../src/scan/task.ts';
import { type CachedWalks, cachedWalks } from './cached-walks.ts';
import { bareRepository, fill, independentCount, temporary, unitAt } from './world.ts';

t.setTimeout(300_000);

interface World extends CachedWalks {
  readonly unit: string;
  /** Walks, and tells whether the signature stood for it; the bytes are those known from the last walk. */
  stands(request?: Partial<WalkRequest>): boolean;
}

function world(t: Test, kind: 'repos' | 'lfs' = 'lfs'): World {
  const unit = join(temporary(t), 'unit');
  const walks = cachedWalks(t, unitAt(unit, kind));
  return {
    ...walks,
    unit,
    stands: request => !walks.walk({ trustsSignature: true, ...request }).isRead,
  };
}

t.test('while nothing changes no directory is read, and the result is the same', async t => {
  for (const kind of ['repos', 'lfs'] as const) {
    const { unit, walk, stands } = world(t, kind);
    bareRepository(unit, 1000);
    fill(join(unit, 'lfs/ab/cd/abcd'), 500);
    linkSync(join(unit, 'lfs/ab/cd/abcd'), join(unit, 'lfs/same'));
    const first = walk();
    t.equal(first.bytes, independentCount(unit).bytes, 'a file with two names counts once');
    t.ok(stands());
    const { objects, ...rest } = walk({ trustsSignature: true });
    t.match(rest, { bytes: first.bytes, files: first.files, directories: first.directories, isRead: false });
    t.equal(objects?.bytes, first.objects?.bytes);
    t.ok(stands(), 'as often as it is asked');
    t.notOk(stands({ trustsSignature: false }), 'nobody has to trust it');
  }
});

t.test('objects behind a link that is followed are looked at where they lie', async t => {
  const { unit, walk, stands } = world(t, 'repos');
  bareRepository(unit, 1000);
  const objectsAt = join(unit, '../objects');
  renameSync(join(unit, 'objects'), objectsAt);
  symlinkSync('../objects', join(unit, 'objects'));
  const { bytes, partial, objects } = walk({ objectsAt });
  t.equal(bytes, independentCount(unit).bytes + 1000);
  t.match({ partial, objects }, { partial: false, objects: { bytes: 1000 } });
  t.ok(stands({ objectsAt }));
  t.notOk(stands(), 'not for a link that is not followed any more');
  walk({ objectsAt });
  t.ok(stands({ objectsAt }));
  fill(join(objectsAt, 'pack/new'), 7);
  t.notOk(stands({ objectsAt }));
});

t.test('whatever is made, removed, renamed or replaced is seen', async t => {
  const { unit, stands } = world(t);
  const changes: Record<string, () => void> = {
    'a file is made': () => fill(join(unit, 'a/b/new'), 7),
    'a file is replaced by a rename': () => {
      writeFileSync(join(unit, 'a/next'), 'longer than before');
      renameSync(join(unit, 'a/next'), join(unit, 'a/b/new'));
    },
    'a file is removed': () => rmSync(join(unit, 'a/b/new')),
    'a directory is made': () => mkdirSync(join(unit, 'a/b/c/d')),
    'a directory is removed': () => rmSync(join(unit, 'a/b/c/d'), { recursive: true }),
    'a directory is replaced by a copy': () => {
      execFileSync('cp', ['-a', join(unit, 'a'), join(unit, '../copy')]);
      rmSync(join(unit, 'a'), { recursive: true });
      renameSync(join(unit, '../copy'), join(unit, 'a'));
    },
    'a directory becomes a link': () => {
      renameSync(join(unit, 'a/b'), join(unit, '../b'));
      symlinkSync('../../b', join(unit, 'a/b'));
    },
    'the link becomes a directory': () => {
      rmSync(join(unit, 'a/b'));
      renameSync(join(unit, '../b'), join(unit, 'a/b'));
    },
    'a file gets a second name': () => linkSync(join(unit, 'first'), join(unit, 'a/second')),
    'rights are taken away': () => chmodSync(join(unit, 'a/b'), 0o700),
    'a time is set back': () => utimesSync(join(unit, 'a/b'), 1000, 1000),
    'the unit is restored from a copy': () => {
      execFileSync('cp', ['-a', unit, `${unit}.copy`]);
      rmSync(unit, { recursive: true });
      renameSync(`${unit}.copy`, unit);
    },
  };
  fill(join(unit, 'first'), 100);
  fill(join(unit, 'a/b/c/file'), 10);
  t.notOk(stands());
  for (const [what, change] of Object.entries(changes)) {
    t.ok(stands(), `before ${what}`);
    change();
    t.notOk(stands(), what);
  }
});

t.test('a file system that is mounted or unmounted inside is seen', async t => {
  const { unit, stands, walk } = world(t);
  fill(join(unit, 'a/file'), 100);
  fill(join(unit, 'b/file'), 7);
  walk();
  execFileSync('mount', ['--bind', join(unit, 'b'), join(unit, 'a')]);
  t.teardown(() => execFileSync('umount', [join(unit, 'a')]));
  t.notOk(stands(), 'bind mounts too');
  t.ok(stands());
});

t.test('a walk of other terms has another signature', async t => {
  const { unit, stands, walk } = world(t);
  fill(join(unit, 'a/file'), 0);
  fill(join(unit, 'b/file'), 0);
  walk();
  t.ok(stands());
  t.notOk(stands({ exclude: new Set(['a']) }), 'other directories are left out');
  t.notOk(stands({ inner: [join(unit, 'b')] }), 'another unit is inside');
  t.notOk(stands({ measure: 'allocated' }));
  t.notOk(stands({ knownBytes: 1 }), 'the unit is known with other bytes than those of the walk');
  t.notOk(stands({ knownBytes: null }), 'it is not known');
});

t.test('none is taken of what may change without a trace, or with time alone', async t => {
  const { unit, stands, cache } = world(t, 'repos');
  bareRepository(unit, 100);
  const unfinished = join(unit, 'objects/pack/tmp_pack_x');
  writeFileSync(unfinished, 'unfinished');
  t.notOk(stands());
  t.equal(cache.readSignature(unit), null, 'a pack in the making becomes a leftover by its age');
  rmSync(unfinished);
  const quarantine = join(unit, 'objects/tmp_objdir-incoming-x');
  mkdirSync(quarantine);
  t.notOk(stands());
  t.equal(cache.readSignature(unit), null, 'a quarantine, too');
  rmSync(quarantine, { recursive: true });
  writeFileSync(join(unit, 'gc.pid'), '1 another.host.example');
  utimesSync(join(unit, 'gc.pid'), Date.now() / 1000, Date.now() / 1000);
  t.notOk(stands());
  t.equal(cache.readSignature(unit), null, 'while a gc is at work');
  rmSync(join(unit, 'gc.pid'));
  t.notOk(stands());
  t.ok(stands());
});

t.test('directories that are too young, files that may still be written, and clocks that jump', async t => {
  const { unit, stands, cache } = world(t);
  fill(join(unit, 'a/file'), 100);
  const { now } = Date;
  t.teardown(() => {
    Date.now = now;
  });
  const changedAt = now() - 3_600_000;
  for (const [milliseconds, what] of [
    [-86_400_000, 'the clock was set back by a day'],
    [0, 'at once'],
    [1000, 'a second later'],
    [59_000, 'directories are old enough now, files are not'],
  ] as const) {
    Date.now = () => changedAt + milliseconds;
    t.notOk(stands());
    t.equal(cache.readSignature(unit), null, what);
  }
  Date.now = () => changedAt + 120_000;
  t.notOk(stands({ measure: 'allocated' }));
  t.equal(cache.readSignature(unit), null, 'a file system may still change the blocks');
  t.notOk(stands());
  t.ok(stands());
  Date.now = () => changedAt - 86_400_000;
  t.ok(stands(), 'what is taken holds whatever the clock does');
});

t.test('what is missing, damaged or of another form only costs a walk', async t => {
  const { unit, stands, cacheFile } = world(t);
  fill(join(unit, 'a/file'), 100);
  t.notOk(stands());
  const database = new DatabaseSync(cacheFile);
  t.teardown(() => database.close());
  const set = (name: string, json: string) =>
    `UPDATE signatures SET signature = json_set(signature, '$.${name}', json('${json}'))`;
  const damages = [
    'DELETE FROM signatures',
    "UPDATE signatures SET signature = 'no JSON'",
    "UPDATE signatures SET signature = 'null'",
    set('digest', '"other"'),
    set('names', '["","b"]'),
    set('names', '{"a":1}'),
    set('names', '[]'),
    set('parents', '[0,1]'),
    set('parents', '[-1,5]'),
    set('files', '2'),
    set('bytes', 'null'),
  ];
  for (const damage of damages) {
    t.ok(stands(), `before ${damage}`);
    database.exec(damage);
    // One that has the same digest is not written again.
    database.exec("UPDATE signatures SET digest = digest || ' '");
    t.notOk(stands(), damage);
  }
});

t.test('in any tree, a change that is made by making or removing is seen', async t => {
  const names = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 5 });
  const change = fc.record({ names, bytes: fc.nat(50), removes: fc.boolean() });
  const law = fc.property(fc.array(change, { minLength: 1, maxLength: 12 }), changes => {
    const { unit, stands, walk } = world(t);
    mkdirSync(join(unit, 'kept'), { recursive: true });
    walk();
    for (const { names, bytes, removes } of changes) {
      const path = join(unit, ...names);
      if (removes) rmSync(path, { recursive: true, force: true });
      else fill(join(path, `file-${bytes}`), bytes);
      const { bytes: counted } = walk({ trustsSignature: true });
      if (counted !== independentCount(unit).bytes || !stands()) return false;
    }
    return true;
  });
  t.doesNotThrow(() => fc.assert(law, { numRuns: 30 }));
});

t.test('what is written in place is seen by nobody but a walk that trusts no signature', async t => {
  const { unit, stands, walk } = world(t);
  fill(join(unit, 'a/file'), 100);
  walk();
  appendFileSync(join(unit, 'a/file'), 'more');
  t.ok(stands());
  t.equal(walk({ trustsSignature: true }).bytes, 100);
  t.equal(walk().bytes, 104);
  t.notOk(stands({ knownBytes: 100 }), 'and no signature is left that says otherwise');
});
