import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { Measure } from '../../src/scan/quarantine.ts';
import type { Walked } from '../../src/scan/task.ts';
import { bareRepository, fill, temporary } from './world.ts';

interface World {
  readonly unit: string;
  /** Walks the unit as one who is not root; it is known with the bytes of the walk before. */
  walk(measure?: Measure, fed?: 'starved'): Walked;
}

function world(t: Test, name = 'unit'): World {
  const root = temporary(t);
  chmodSync(root, 0o755);
  const unit = join(root, name);
  const script = fileURLToPath(new URL('nobody.ts', import.meta.url));
  let knownBytes: number | null = null;
  return {
    unit,
    walk: (measure = 'apparent', fed) => {
      // env -i takes away the test runner's settings, which have every Node write where only root may.
      const node = ['-i', process.execPath, script, unit, String(knownBytes), measure, fed ?? 'fed'];
      const limited = ['--nofile=256', 'env', ...node];
      const walked: Walked = JSON.parse(execFileSync('prlimit', limited, { encoding: 'utf8' }));
      knownBytes = walked.bytes;
      return walked;
    },
  };
}

t.test('while a directory cannot be read, the larger of the known and the seen bytes counts', async t => {
  const { unit, walk } = world(t);
  fill(join(unit, 'closed/deep/a'), 1000);
  fill(join(unit, 'closed/b'), 100);
  fill(join(unit, 'open/c'), 10);
  t.match(walk(), { bytes: 1110, partial: false });
  chmodSync(join(unit, 'closed'), 0o700);
  t.match(walk(), {
    bytes: 1110,
    partial: true,
    unread: { count: 1, first: [{ path: join(unit, 'closed'), error: 'EACCES' }] },
  });
  fill(join(unit, 'open/d'), 5);
  t.match(walk(), { bytes: 1110, partial: true }, 'what comes may be in the place of what cannot be read');
  fill(join(unit, 'open/e'), 2000);
  t.match(walk(), { bytes: 2015, partial: true }, 'more than was known counts');
  rmSync(join(unit, 'open/e'));
  t.match(walk(), { bytes: 2015, partial: true }, 'and stays until all can be read');
  chmodSync(join(unit, 'closed'), 0o755);
  t.match(walk(), { bytes: 1115, partial: false });
  chmodSync(join(unit, 'closed'), 0o700);
  rmSync(join(unit, 'closed'), { recursive: true });
  t.match(walk(), { bytes: 15, partial: false }, 'what is removed is not unreadable');
});

t.test('what cannot be read keeps the blocks of its directories, too', async t => {
  const { unit, walk } = world(t);
  fill(join(unit, 'closed/deep/er/a'), 1000);
  fill(join(unit, 'open/b'), 10);
  const { bytes } = walk('allocated');
  const du = () => Number(execFileSync('du', ['-s', '-B1', unit]).toString().split('\t')[0]);
  t.equal(bytes, du());
  for (const mode of [0o700, 0o744]) {
    chmodSync(join(unit, 'closed'), mode);
    t.match(walk('allocated'), { bytes, partial: true });
  }
  rmSync(join(unit, 'open'), { recursive: true });
  chmodSync(join(unit, 'closed'), 0o755);
  t.match(walk('allocated'), { bytes: du(), partial: false });
});

t.test('a directory that can be listed but not entered keeps its last known bytes', async t => {
  const { unit, walk } = world(t);
  fill(join(unit, 'listed/a'), 100);
  fill(join(unit, 'listed/deep/b'), 1000);
  fill(join(unit, 'c'), 1);
  walk();
  chmodSync(join(unit, 'listed'), 0o744);
  t.match(walk(), {
    bytes: 1101,
    files: 1,
    partial: true,
    unread: { count: 1, first: [{ path: join(unit, 'listed'), error: 'EACCES' }] },
  });
});

t.test('a unit that cannot be read at all keeps its last known bytes', async t => {
  const { unit, walk } = world(t);
  fill(join(unit, 'a/b'), 100);
  walk();
  chmodSync(unit, 0o700);
  t.match(walk(), { bytes: 100, partial: true, unread: { first: [{ path: unit, error: 'EACCES' }] } });
});

t.test('a new unit with unreadable places counts what can be read', async t => {
  const { unit, walk } = world(t);
  fill(join(unit, 'closed/a'), 1000);
  fill(join(unit, 'open/b'), 50);
  chmodSync(join(unit, 'closed'), 0o700);
  t.match(walk(), { bytes: 50, partial: true });
});

t.test('without a file descriptor nothing counts less', async t => {
  const { unit, walk } = world(t, 'a.git');
  bareRepository(unit, 1000);
  const { bytes } = walk();
  t.match(walk('apparent', 'starved'), {
    bytes,
    partial: true,
    unread: { first: [{ path: unit, error: 'EMFILE' }] },
  });
  fill(join(unit, 'objects/more'), 10);
  t.match(walk(), { bytes: bytes + 10, partial: false });
});

t.test('many unreadable places are counted, and the first are named', async t => {
  const { unit, walk } = world(t);
  for (let index = 0; index < 250; index++) {
    fill(join(unit, String(index), 'file'), 1);
    chmodSync(join(unit, String(index)), 0o700);
  }
  const walked = walk();
  t.equal(walked.unread.count, 250);
  t.equal(walked.unread.first.length, 100);
});

t.test('a quarantine that cannot be read makes no unit partial', async t => {
  const { unit, walk } = world(t, 'a.git');
  bareRepository(unit, 100);
  const quarantine = join(unit, 'objects/tmp_objdir-incoming-xxxxxx');
  fill(join(quarantine, 'pack/tmp_pack_y'), 5000);
  chmodSync(quarantine, 0o700);
  const bytes = 100 + 'ref: refs/heads/main\n'.length;
  t.match(walk(), { bytes, partial: false, unread: { count: 0 }, leftovers: { count: 0 } });
  const longAgo = Date.now() / 1000 - 7200;
  utimesSync(quarantine, longAgo, longAgo);
  const { objects, ...walked } = walk();
  t.match(walked, { bytes, partial: false, unread: { count: 0 } }, 'whatever its age');
  t.match(objects?.after.there, [{ bytes: 0, isUnreadable: true }]);
});
