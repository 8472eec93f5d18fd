import t from 'tap';
import type { Root } from '../../src/layout/index.ts';
import { type RootQuestions, standingAfter, sweptRoots } from '../../src/scan/roots.ts';

const none: ReadonlySet<string> = new Set();

function root(path: string, given: Partial<Root> = {}): Root {
  return { written: path, path, state: 'present', device: 1n, inode: 10n, ...given };
}

function knowing(known: readonly string[], record?: { device: bigint; inode: bigint }): RootQuestions {
  return { rootRecord: () => record, knownBelow: path => known.filter(unit => unit.startsWith(`${path}/`)) };
}

t.test('a unit that was not seen below a root that is as it was is gone', async t => {
  const roots = sweptRoots([root('/srv')], [root('/srv')], none, knowing([]), false);
  const standing = standingAfter(new Set(['/srv/a']), new Set(['/srv/closed']), roots);
  t.equal(standing('/srv/a'), 'seen');
  t.equal(standing('/srv/b'), 'gone');
  t.equal(standing('/srv/a/b'), 'gone');
  t.equal(standing('/srv/closed/b'), 'unread');
  t.equal(standing('/srv/closed'), 'unread');
  t.equal(standing('/srv/closed-not'), 'gone');
});

t.test('units below a root that is missing are away', async t => {
  for (const state of ['missing', 'unreadable', 'not a directory'] as const) {
    const roots = [root('/srv', { state, device: 0n, inode: 0n }), root('/mnt')];
    const standing = standingAfter(none, none, sweptRoots(roots, roots, none, knowing([]), false));
    t.equal(standing('/srv/a'), 'away');
    t.equal(standing('/mnt/a'), 'gone');
    t.equal(standing('/data/a'), 'away', 'the missing root may have led there by a link');
  }
});

t.test('units of storage that is not configured any more are gone', async t => {
  const roots = sweptRoots([root('/srv')], [root('/srv')], none, knowing([]), false);
  t.equal(standingAfter(none, none, roots)('/data/a'), 'gone');
});

t.test('units below a root that went away during the sweep are away', async t => {
  const before = [root('/srv')];
  for (const after of [
    root('/srv', { device: 2n, inode: 20n }),
    root('/srv', { state: 'missing', device: 0n, inode: 0n }),
  ]) {
    t.equal(
      standingAfter(none, none, sweptRoots(before, [after], none, knowing([]), false))('/srv/a'),
      'away',
    );
  }
});

t.test('a root is another file system where device and inode differ and no known unit is there', async t => {
  const away = (
    seen: readonly string[],
    known: readonly string[],
    record: [bigint, bigint],
    accept = false,
  ) => {
    const [device, inode] = record;
    const roots = [root('/srv')];
    return sweptRoots(roots, roots, new Set(seen), knowing(known, { device, inode }), accept)[0]?.away;
  };
  t.equal(away([], ['/srv/a'], [2n, 20n]), 'another file system');
  t.equal(away(['/srv/new'], ['/srv/a'], [2n, 20n]), 'another file system');
  t.equal(away(['/srv/b'], ['/srv/a', '/srv/b'], [2n, 20n]), null, 'it was moved with what it holds');
  t.equal(away([], [], [2n, 20n]), null, 'nothing is lost');
  t.equal(away([], ['/srv/a'], [2n, 10n]), null, 'numbers of devices may change with a restart');
  t.equal(away([], ['/srv/a'], [1n, 20n]), null, 'the directory was made anew');
  t.equal(away([], ['/srv/a'], [2n, 20n], true), null, 'somebody said that it is right');
});
