import t from 'tap';
import type { Root } from '../../src/layout/index.ts';
import {
  classifyKnownUnit,
  haveMostVanished,
  type KnownRoots,
  knownByRoot,
  type SweptRoot,
  sweptRoots,
} from '../../src/scan/roots.ts';

const none: ReadonlySet<string> = new Set();
type Roots = Parameters<typeof sweptRoots>;

const nothing: Roots[2] = { seen: none, absent: none };

function root(path: string, given: Partial<Root> = {}): Root {
  return { written: path, path, state: 'present', device: 1n, inode: 10n, fileSystem: null, ...given };
}

interface Knowing extends Pick<KnownRoots, 'rootRecord'> {
  readonly known: readonly string[];
}

function knowing(known: readonly string[], record?: ReturnType<Roots[3]['rootRecord']>): Knowing {
  return { rootRecord: () => record, known };
}

function swept(
  before: readonly Root[],
  after: readonly Root[],
  findings: Roots[2],
  { known, ...records }: Knowing,
  acceptMoved: boolean,
): readonly SweptRoot[] {
  const below = (path: string) => known.filter(unit => unit.startsWith(`${path}/`));
  const byRoot = new Map(before.map(({ path }) => [path, below(path)]));
  const areStrays = known.some(unit => !before.some(({ path }) => unit.startsWith(`${path}/`)));
  return sweptRoots(before, after, findings, records, { byRoot, areStrays }, acceptMoved);
}

t.test('a unit that was not seen below a root that is as it was is gone', async t => {
  const roots = swept([root('/srv')], [root('/srv')], nothing, knowing([]), false);
  const standing = classifyKnownUnit(new Set(['/srv/a']), new Set(['/srv/closed']), roots);
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
    const known = knowing(['/srv/a', '/mnt/a', '/data/a']);
    const standing = classifyKnownUnit(none, none, swept(roots, roots, nothing, known, false));
    t.equal(standing('/srv/a'), 'away');
    t.equal(standing('/mnt/a'), 'gone');
    t.equal(standing('/data/a'), 'away', 'the missing root may have led there by a link');
  }
});

t.test('a missing root that never had units keeps no unit, unless a link may have led from it', async t => {
  const roots = [root('/srv', { state: 'missing', device: 0n, inode: 0n }), root('/mnt')];
  const standing = (known: readonly string[]) =>
    classifyKnownUnit(none, none, swept(roots, roots, nothing, knowing(known), false));
  t.equal(standing(['/mnt/a'])('/mnt/a'), 'gone');
  t.equal(standing(['/mnt/a', '/data/a'])('/data/a'), 'away');
});

t.test('the units behind a link to nothing are away until somebody says that it is meant', async t => {
  const roots = [root('/mnt', { state: 'missing', isLink: true }), root('/srv')];
  const standing = (acceptMoved: boolean) =>
    classifyKnownUnit(none, none, swept(roots, roots, nothing, knowing(['/mnt/a']), acceptMoved))('/mnt/a');
  t.equal(standing(false), 'away');
  t.equal(standing(true), 'gone');
  const later = swept(roots, roots, nothing, knowing(['/srv/a']), false);
  t.match(later, [{ away: null }, { away: null }], 'nobody waits for what had nothing');
});

t.test('units of storage that is not configured any more are gone', async t => {
  const roots = swept([root('/srv')], [root('/srv')], nothing, knowing([]), false);
  t.equal(classifyKnownUnit(none, none, roots)('/data/a'), 'gone');
});

t.test('while keys of app.ini are missing, only a unit with nothing at its path is gone', async t => {
  const absent = new Set(['/srv/a', '/data/a']);
  const present = swept([root('/srv')], [root('/srv')], nothing, knowing([]), false);
  const standing = classifyKnownUnit(new Set(['/srv/s']), new Set(['/srv/u']), present, absent);
  t.strictSame(['/srv/s', '/srv/a', '/srv/b', '/data/a', '/srv/u/a'].map(standing), [
    'seen',
    'gone',
    'unplaced',
    'unplaced',
    'unread',
  ]);
  t.equal(classifyKnownUnit(none, none, [], absent)('/data/a'), 'unplaced', 'no storage is left');
});

t.test('units below a root that went away during the sweep are away', async t => {
  const before = [root('/srv')];
  for (const after of [
    root('/srv', { device: 2n, inode: 20n }),
    root('/srv', { state: 'missing', device: 0n, inode: 0n }),
  ]) {
    t.equal(
      classifyKnownUnit(none, none, swept(before, [after], nothing, knowing([]), false))('/srv/a'),
      'away',
    );
  }
});

t.test('a root is another file system where device and inode differ and no known unit is there', async t => {
  const away = (
    seen: readonly string[],
    known: readonly string[],
    numbers: [bigint, bigint],
    accept = false,
  ) => {
    const [device, inode] = numbers;
    const roots = [root('/srv')];
    const record = { device, inode, fileSystem: null };
    return swept(roots, roots, { seen: new Set(seen), absent: none }, knowing(known, record), accept)[0]
      ?.away;
  };
  t.equal(away([], ['/srv/a'], [2n, 20n]), 'another file system');
  t.equal(away(['/srv/new'], ['/srv/a'], [2n, 20n]), 'another file system');
  t.equal(away(['/srv/b'], ['/srv/a', '/srv/b'], [2n, 20n]), null, 'it was moved with what it holds');
  t.equal(away([], [], [2n, 20n]), null, 'nothing is lost');
  t.equal(away([], ['/srv/a'], [2n, 10n]), null, 'numbers of devices may change with a restart');
  t.equal(away([], ['/srv/a'], [1n, 20n]), null, 'the directory was made anew');
  t.equal(away([], ['/srv/a'], [2n, 20n], true), null, 'somebody said that it is right');
});

t.test('where the marks of both file systems are known they decide, and the numbers do not', async t => {
  const away = (now: string | null, before: string | null, numbers: [bigint, bigint], seen = none) => {
    const [device, inode] = numbers;
    const roots = [root('/srv', { fileSystem: now })];
    const record = { device, inode, fileSystem: before };
    return swept(roots, roots, { seen, absent: none }, knowing(['/srv/a'], record), false)[0]?.away;
  };
  const same: [bigint, bigint] = [1n, 10n];
  const other: [bigint, bigint] = [2n, 20n];
  t.equal(away('fsid=1', 'fsid=2', same), 'another file system');
  t.equal(away('fsid=1 uuid=a', 'fsid=2', same), 'another file system');
  t.equal(away('fsid=1', 'fsid=1', other), null, 'the numbers were given anew');
  t.equal(away('uuid=a', 'fsid=2', same), null, 'no kind of mark is known of both');
  t.equal(away('uuid=a', 'fsid=2', other), 'another file system');
  t.equal(away(null, 'fsid=2', same), null);
  t.equal(away('fsid=1', 'fsid=2', same, new Set(['/srv/a'])), null, 'the units were moved there');
});

t.test('a root that becomes another file system during the sweep is away, whatever its marks', async t => {
  const [before, after] = ['fsid=1', 'fsid=2'].map(fileSystem => root('/srv', { fileSystem }));
  if (before === undefined || after === undefined) throw new Error('two were made');
  t.equal(swept([before], [after], nothing, knowing([]), false)[0]?.away, 'changed meanwhile');
});

t.test('units missing by the dozen, and most of a root, are held back until somebody agrees', async t => {
  const known = Array.from({ length: 30 }, (_, index) => `/srv/${index}`);
  const away = (missing: number, absent = missing, accept = false) => {
    const roots = [root('/srv'), root('/mnt')];
    const sight = { seen: new Set(known.slice(missing)), absent: new Set(known.slice(0, absent)) };
    return swept(roots, roots, sight, knowing(known), accept).map(one => one.away);
  };
  t.same(away(15), [null, null], 'half of them are not most');
  t.same(away(16), ['16 of its 30 known units are missing at once', null]);
  t.same(away(30), ['30 of its 30 known units are missing at once', null]);
  t.same(away(30, 30, true), [null, null]);
  t.same(away(30, 0), [null, null], 'what is there and is no unit any more is no matter of disks');
  t.notOk(haveMostVanished(9, 9), 'who has few may delete them all');
  t.ok(haveMostVanished(10, 10));
  t.notOk(haveMostVanished(10, 20));
});

t.test('at 100,000 units, a root that was never there keeps nobody waiting', async t => {
  const repositories = '/var/opt/gitlab/git-data/repositories';
  const units = Array.from({ length: 100_000 }, (_, at) => `${repositories}/@hashed/ab/cd/${at}.git`);
  const roots = ['@hashed', '@snippets', '@pools'].map(name =>
    root(`${repositories}/${name}`, name === '@hashed' ? {} : { state: 'missing' }),
  );
  const seen = new Set(units);
  let [looked, most, isOver] = [0, 0, false];
  const turn = () => {
    most = Math.max(most, looked);
    looked = 0;
    if (!isOver) setImmediate(turn);
  };
  turn();
  function* below(path: string) {
    for (const unit of units) {
      if (path !== '/' && !unit.startsWith(`${path}/`)) continue;
      looked++;
      yield unit;
    }
  }
  const known = await knownByRoot(roots, { knownBelow: below });
  const records = { rootRecord: (path: string) => (path.endsWith('@hashed') ? roots[0] : undefined) };
  const found = sweptRoots(roots, roots, { seen, absent: none }, records, known, false);
  isOver = true;
  t.strictSame(
    found.map(({ unused }) => unused),
    [null, 'expected', 'expected'],
  );
  most = Math.max(most, looked);
  t.ok(most < units.length, `${most} in one turn`);
  const others = { knownBelow: (path: string) => (path === '/' ? ['/mnt/a'] : []) };
  t.equal((await knownByRoot(roots, others)).areStrays, true);
});
