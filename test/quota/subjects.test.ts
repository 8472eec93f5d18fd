import fc from 'fast-check';
import t from 'tap';
import {
  addBytes,
  bytesUnder,
  isLeaf,
  isSubject,
  leafIndex,
  leafMask,
  leaves,
  noUsage,
  subjects,
  subjectsWithin,
  usageOf,
  withAncestors,
} from '../../src/quota/index.ts';
import { usage } from './arbitraries.ts';

t.test('every leaf is a subject, and nothing else but the tree is', async t => {
  t.ok(leaves.every(leaf => isSubject(leaf) && isLeaf(leaf)));
  t.notOk(isLeaf('size:all'));
  for (const text of [
    'none',
    '',
    'size',
    'size:git',
    'SIZE:ALL',
    'size:all\u0000',
    'constructor',
    '__proto__',
  ]) {
    t.notOk(isSubject(text), text);
    t.notOk(isLeaf(text), text);
  }
});

t.test('what lies above a subject is told from the nearest to the whole', async t => {
  t.same(withAncestors('size:assets:attachments:issues'), [
    'size:assets:attachments:issues',
    'size:assets:attachments:all',
    'size:assets:all',
    'size:all',
  ]);
  t.same(withAncestors('size:repos:public'), [
    'size:repos:public',
    'size:repos:all',
    'size:git:all',
    'size:all',
  ]);
  t.same(withAncestors('size:all'), ['size:all']);
});

t.test('the leaves below a subject are those that have it above them', async t => {
  for (const subject of subjects) {
    for (const leaf of leaves) {
      const below = (leafMask(subject) & (1 << leafIndex(leaf))) !== 0;
      t.equal(below, withAncestors(leaf).includes(subject), `${leaf} below ${subject}`);
    }
  }
  t.equal(leafMask('none'), 0);
});

t.test('any leaves are told by the fewest subjects that hold exactly these', async t => {
  t.same(subjectsWithin(leafMask('size:all')), ['size:all']);
  t.same(subjectsWithin(leafMask('size:repos:public') | leafMask('size:repos:private')), ['size:repos:all']);
  t.same(subjectsWithin(0), []);
  fc.assert(
    fc.property(fc.nat(leafMask('size:all')), mask => {
      const found = subjectsWithin(mask);
      const union = found.reduce((all, subject) => all | leafMask(subject), 0);
      const joinable = subjects.some(
        subject =>
          !found.includes(subject) &&
          found.filter(one => withAncestors(one).includes(subject)).length > 1 &&
          (leafMask(subject) & ~mask) === 0,
      );
      return union === mask && !joinable;
    }),
  );
});

t.test('usage is added up per leaf, and the whole is the sum of the leaves', async t => {
  t.same(usageOf({}), noUsage);
  t.equal(bytesUnder(usageOf({ 'size:git:lfs': 5, 'size:assets:wiki': 7 }), leafMask('size:git:all')), 5);
  fc.assert(
    fc.property(
      usage,
      stored => bytesUnder(stored, leafMask('size:all')) === stored.reduce((sum, size) => sum + size, 0),
    ),
  );
});

t.test('a sum past 2^53 - 1 is an error, never a rounded number', async t => {
  const most = Number.MAX_SAFE_INTEGER;
  t.equal(addBytes(most - 1, 1), most);
  t.throws(() => addBytes(most, 1), { code: 'sum_too_large' });
  const stored = usageOf({ 'size:git:lfs': most, 'size:assets:wiki': 1 });
  t.equal(bytesUnder(stored, leafMask('size:git:all')), most);
  t.throws(() => bytesUnder(stored, leafMask('size:all')), { code: 'sum_too_large' });
});
