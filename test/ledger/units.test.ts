/** Units as walks and programs report them, and their owners. */

import t from 'tap';
import { type Leaf, leafMask, leaves, type Subject } from '../../src/quota/index.ts';
import type { Changes } from '../../src/store/index.ts';
import { emptyModel, storeOn } from '../store/model.ts';
import { lfs, openOn, repos, SetClock, used, World, walk } from './world.ts';

t.test('what a walk found counts at once, and after the ledger was opened again', async t => {
  const world = new World(t);
  let ledger = await world.open();
  t.equal(ledger.decide('alice', repos).decision.allowed, true);
  walk(ledger, 'alice/app', 10_001);
  t.match(ledger.decide('alice', repos), {
    owner: { name: 'alice' },
    decision: { allowed: false, used: 10_001, limit: 10_000 },
  });
  t.equal(await ledger.kept(), true);
  ledger = await world.open();
  t.equal(ledger.decide('alice', repos).decision.allowed, false);
  t.ok(ledger.walks.nextSeq() > 1, 'and the order of things goes on');
});

t.test('who is deleted and comes anew while all are listed is listed with what there is now', async t => {
  const ledger = await new World(t).open();
  await ledger.documents.transact(transaction => transaction.createOwner('alice'));
  walk(ledger, 'bob/app', 5);
  const listing = ledger.owners();
  t.match(listing.next().value, { name: 'alice' });
  ledger.walks.recordGone('/srv/git/bob/app.git', ledger.walks.nextSeq());
  await ledger.documents.transact(transaction => transaction.deleteOwner('bob'));
  walk(ledger, 'bob/app', 7);
  const [bob] = [...listing];
  t.equal(bob?.usage[leaves.indexOf(repos)], 7);
});

t.test('whoever lists the units of an owner who goes is not told those of the next who comes', async t => {
  const ledger = await new World(t).open();
  for (const name of ['one', 'two', 'three']) await ledger.reports.reportUnit('alice', lfs, name, 5);
  const { units } = await ledger.shares.someUnitsOf('alice', { most: 10 });
  const listed = units[Symbol.iterator]();
  t.match(listed.next().value, { name: 'one' });
  for (const name of ['one', 'two', 'three']) await ledger.reports.reportUnit('alice', lfs, name, 0);
  await ledger.documents.transact(transaction => transaction.deleteOwner('alice'));
  for (const name of ['four', 'five', 'six']) await ledger.reports.reportUnit('bob', lfs, name, 5);
  t.equal(listed.next().done, true);
  t.equal([...units].length, 0);
  t.equal(ledger.units.unitsOf('bob').length, 3);
});

t.test('a unit that is gone does not come back by an earlier walk, but by a later one', async t => {
  const ledger = await new World(t).open();
  const earlier = ledger.walks.nextSeq();
  walk(ledger, 'alice/app', 7);
  ledger.walks.recordGone('/srv/git/alice/app.git', ledger.walks.nextSeq());
  t.equal(used(ledger, 'alice'), 0);
  walk(ledger, 'alice/app', 99, { seq: earlier });
  ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 0 }, [], () => true);
  walk(ledger, 'alice/app', 99, { seq: earlier });
  t.equal(used(ledger, 'alice'), 0);
  walk(ledger, 'alice/app', 8);
  t.equal(used(ledger, 'alice'), 8);
});

t.test('names that differ in case or in composed accents are one owner, as first seen', async t => {
  const ledger = await new World(t).open();
  walk(ledger, 'Alice/a', 1);
  walk(ledger, 'ALICE/b', 2);
  walk(ledger, 'ren\u00e9/a', 4);
  walk(ledger, 'rene\u0301/b', 8);
  t.equal(used(ledger, 'aLiCe'), 3);
  t.equal(ledger.ownerUsage('alice').name, 'Alice');
  t.equal(used(ledger, 'ren\u00e9'), 12);
  t.strictSame(ledger.units.spellings(), [
    ['ALICE', 'Alice'],
    ['rene\u0301', 'ren\u00e9'],
  ]);
});

t.test('with CASE = keep names that differ in case are different owners', async t => {
  const ledger = await new World(t, { foldCase: false }).open();
  walk(ledger, 'Alice/a', 1);
  walk(ledger, 'ALICE/b', 2);
  t.strictSame(
    ['Alice', 'ALICE', 'alice'].map(name => used(ledger, name)),
    [1, 2, 0],
  );
});

t.test('a changed CASE folds owners together and apart, and counts each byte once', async t => {
  const clock = new SetClock();
  const world = new World(t, { clock });
  const names = ['Alice', 'ALICE', 'alice'];
  let ledger = await world.open({ foldCase: false });
  walk(ledger, 'Alice/a', 1);
  clock.pass(1);
  walk(ledger, 'ALICE/b', 2);
  await ledger.reports.reportUnit('Alice', 'size:assets:artifacts', 'ci', 10);
  await ledger.reports.reportUnit('ALICE', 'size:assets:artifacts', 'ci', 20);
  ledger = await world.open({ foldCase: true });
  t.strictSame(
    [...ledger.owners()].map(({ name }) => name),
    ['Alice'],
  );
  t.equal(used(ledger, 'alice'), 3);
  t.equal(used(ledger, 'alice', 'size:assets:artifacts'), 20, 'of one name the later report counts');
  await ledger.reports.reportUnit('alice', 'size:assets:artifacts', 'ci', 5);
  t.equal(used(ledger, 'alice', 'size:assets:artifacts'), 5);
  ledger = await world.open({ foldCase: true });
  t.equal(used(ledger, 'alice', 'size:assets:artifacts'), 5, 'nothing of the old keys was left in the store');
  ledger = await world.open({ foldCase: false });
  t.strictSame(
    names.map(name => used(ledger, name)),
    [1, 2, 0],
  );
  t.equal(used(ledger, 'Alice', 'size:assets:artifacts'), 5);
});

t.test('a walk that finds what was known writes nothing, and counts after a start', async t => {
  const clock = new SetClock();
  const model = emptyModel();
  const written: string[] = [];
  const store = storeOn(model);
  const watched = {
    ...store,
    write: async (changes: Changes) => {
      written.push(...(changes.units ?? []).map(({ id }) => id));
      await store.write(changes);
    },
  };
  let ledger = await openOn(watched, { clock });
  for (const bytes of [5, 5, 6]) {
    const startedAt = clock.wall();
    walk(ledger, 'alice/app', bytes, { measuredAt: clock.wall() });
    walk(ledger, 'alice/same', 1, { measuredAt: clock.wall() });
    ledger.walks.recordSweep({ startedAt, finishedAt: startedAt + 1, units: 2 }, [], () => true);
    await ledger.kept();
    clock.pass(1000);
  }
  const app = '/srv/git/alice/app.git';
  t.strictSame(written.toSorted(), [app, app, '/srv/git/alice/same.git']);
  const { measuredAt } = ledger.ownerUsage('alice');
  t.equal(measuredAt, clock.wall() - 1000);
  ledger.walks.recordUnread(app, ledger.walks.nextSeq());
  await ledger.close();
  ledger = await openOn(watched, { clock });
  t.equal(used(ledger, 'alice'), 7);
  t.match(ledger.units.unit('/srv/git/alice/same.git'), { measuredAt, partial: false });
  t.match(ledger.units.unit(app), { measuredAt, partial: true });
  await ledger.close();
});

t.test('of many reports the later one counts, wherever in the store the same name is read', async t => {
  const world = new World(t);
  const artifacts: Leaf = 'size:assets:artifacts';
  let ledger = await world.open({ foldCase: false });
  await ledger.reports.reportUnit('Alice', artifacts, 'ci', 111);
  for (let each = 0; each < 2500; each += 1) await ledger.reports.reportUnit('Bob', artifacts, `${each}`, 1);
  await ledger.reports.reportUnit('alice', artifacts, 'ci', 999);
  for (const opened of ['first', 'again']) {
    ledger = await world.open({ foldCase: true });
    t.equal(used(ledger, 'alice', artifacts), 999, opened);
    t.equal(used(ledger, 'bob', artifacts), 2500, opened);
  }
});

t.test('what cannot be read keeps its bytes and makes its owner partial until it is read again', async t => {
  const world = new World(t);
  let ledger = await world.open();
  t.equal(ledger.ownerUsage('alice').partial, true, 'before the first sweep nothing is whole');
  walk(ledger, 'alice/app', 5);
  ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 1 }, [], () => true);
  t.equal(ledger.ownerUsage('alice').partial, false);
  ledger.walks.recordUnread('/srv/git/alice/app.git', ledger.walks.nextSeq());
  ledger.walks.recordUnread('/srv/git/alice/app.git', ledger.walks.nextSeq());
  ledger = await world.open();
  t.match(ledger.ownerUsage('alice'), { partial: true });
  t.equal(used(ledger, 'alice'), 5);
  walk(ledger, 'alice/app', 6);
  t.match(ledger.ownerUsage('alice'), { partial: false });
});

t.test('a reported unit has the size that was said last; 0 takes it out', async t => {
  const world = new World(t);
  let ledger = await world.open();
  await ledger.reports.reportUnit('alice', 'size:assets:packages:all', 'npm/left-pad', 10);
  await ledger.reports.reportUnit('alice', 'size:assets:packages:all', 'npm/left-pad', 7);
  await Promise.all(
    [1, 2, 3].map(size => ledger.reports.reportUnit('bob', 'size:assets:packages:all', 'x', size)),
  );
  ledger = await world.open();
  t.equal(used(ledger, 'alice', 'size:assets:packages:all'), 7);
  t.equal(used(ledger, 'bob', 'size:assets:packages:all'), 3, 'of several at once the last');
  await ledger.reports.reportUnit('alice', 'size:assets:packages:all', 'npm/left-pad', 0);
  await ledger.reports.reportUnit('alice', 'size:assets:packages:all', 'never there', 0);
  t.equal(used(ledger, 'alice', 'size:assets:packages:all'), 0);
  ledger = await world.open();
  t.strictSame(ledger.units.unitsOf('alice'), []);
});

t.test('how fresh the figures are is told by the oldest walk, and without any by the last sweep', async t => {
  const ledger = await new World(t).open();
  await ledger.reports.reportUnit('alice', 'size:assets:artifacts', 'ci', 1);
  t.equal(ledger.ownerUsage('alice').measuredAt, null, 'nothing was measured yet');
  ledger.walks.recordSweep({ startedAt: 10, finishedAt: 20, units: 0 }, [], () => true);
  t.equal(ledger.ownerUsage('alice').measuredAt, 20);
  walk(ledger, 'alice/a', 1, { measuredAt: 50 });
  walk(ledger, 'alice/b', 1, { measuredAt: 40 });
  t.equal(ledger.ownerUsage('alice').measuredAt, 40);
  walk(ledger, 'alice/b', 1, { measuredAt: 60 });
  t.equal(ledger.ownerUsage('alice').measuredAt, 50);
});

t.test('a sum past 2^53 - 1 is an error for its owner only, until it fits again', async t => {
  const ledger = await new World(t).open();
  walk(ledger, 'alice/a', Number.MAX_SAFE_INTEGER);
  walk(ledger, 'alice/b', 1);
  walk(ledger, 'carol/a', Number.MAX_SAFE_INTEGER);
  walk(ledger, 'carol/b', 1, { leaf: 'size:assets:wiki' });
  walk(ledger, 'bob/a', 3);
  t.throws(() => ledger.decide('alice', repos), {
    code: 'sum_too_large',
    message: /^the sum of alice's units/,
  });
  t.throws(() => ledger.decide('carol', repos), { code: 'sum_too_large' }, 'leaves together pass it as well');
  t.equal(ledger.decide('bob', repos).decision.used, 3);
  t.strictSame(
    [...ledger.owners()].map(({ name }) => name),
    ['bob'],
  );
  const sizes = (subject: Subject) =>
    [...ledger.units.ownerSizes(leafMask(subject), '')].map(size => size?.bytes);
  t.strictSame(sizes('size:all'), [3]);
  t.strictSame(sizes('size:assets:wiki'), [0], 'though that fits by itself');
  walk(ledger, 'alice/a', Number.MAX_SAFE_INTEGER - 1);
  t.equal(used(ledger, 'alice'), Number.MAX_SAFE_INTEGER, 'exact to the last byte');
  await t.rejects(ledger.reports.reportUnit('alice', 'size:assets:artifacts', 'ci', 1), {
    code: 'sum_too_large',
  });
  await t.rejects(ledger.reports.addDelta('alice', repos, 1), { code: 'sum_too_large' });
  t.equal(used(ledger, 'alice', 'size:assets:artifacts'), 0);
});

t.test('sizes of owners count reports, and those without any are 0', async t => {
  const ledger = await new World(t).open();
  walk(ledger, 'alice/a', 5);
  walk(ledger, 'alice/b', 7, { leaf: 'size:assets:wiki' });
  await ledger.reports.reportUnit('alice', 'size:git:lfs', 'store', 100);
  walk(ledger, 'zoë/a', 2);
  await ledger.reports.addDelta('zoë', 'size:assets:wiki', 40);
  walk(ledger, 'bob/a', 1);
  await ledger.reports.reportUnit('carol', 'size:git:lfs', 'store', 0);
  const sizes = (subject: Subject, keyPart = '') =>
    [...ledger.units.ownerSizes(leafMask(subject), keyPart)].map(
      size => size && [ledger.ownerById(size.owner.id)?.name, size.bytes],
    );
  t.strictSame(sizes('size:all'), [
    ['alice', 112],
    ['zoë', 42],
    ['bob', 1],
    ['carol', 0],
  ]);
  t.strictSame(sizes('size:assets:all'), [
    ['alice', 7],
    ['zoë', 40],
    ['bob', 0],
    ['carol', 0],
  ]);
  t.strictSame(sizes('size:git:lfs', 'ë'), [['zoë', 0]]);
  t.equal(ledger.ownerById(4), undefined, 'nobody has this id');
});

t.test('whoever goes through sizes may rest though few are meant', async t => {
  const ledger = await new World(t).open();
  for (let owner = 0; owner < 300; owner += 1) walk(ledger, `owner-${owner}/a`, 1);
  const [owners, units] = [
    ledger.units.ownerSizes(leafMask(repos), 'owner-299'),
    ledger.units.unitsBelow(0, () => true),
  ];
  t.equal([...owners].filter(size => size === null).length, 4);
  t.equal([...units].filter(size => size === null).length, 4);
});

t.test('the unit of a path is the innermost that holds it', async t => {
  const ledger = await new World(t).open();
  walk(ledger, 'alice/app', 1);
  walk(ledger, 'alice/app', 2, { path: '/srv/git/alice/app.git/lfs' });
  const at = (path: string) => ledger.units.unitAt(path)?.name;
  t.equal(at('/srv/git/alice/app.git/lfs/ab/cd'), '/srv/git/alice/app.git/lfs');
  t.equal(at('/srv/git/alice/app.git/refs'), '/srv/git/alice/app.git');
  t.equal(at('/srv/git/alice/app.gitx'), undefined);
  t.equal(at('/'), undefined);
  t.strictSame([...ledger.units.pathsBelow('/srv/git/alice')].length, 2);
});

t.test('an owner of whom several reports come at once, and a walk finds units, is one', async t => {
  const world = new World(t);
  const ledger = await world.open();
  const reports = ['a', 'b'].map(name => ledger.reports.reportUnit('Eve', lfs, name, 1));
  walk(ledger, 'eve/app', 100);
  await Promise.all([...reports, ledger.reports.addDelta('EVE', lfs, 5)]);
  const { id } = ledger.ownerUsage('eve');
  const again = await world.open();
  t.equal(again.ownerUsage('eve').id, id);
  t.match([...again.documents.owners.all], [{ name: 'Eve' }]);
});
