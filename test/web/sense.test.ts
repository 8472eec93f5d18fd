/** Words and values that pages make of the daemon's answers and of input, without a browser. */

import fc from 'fast-check';
import t from 'tap';
import { leaves, subjects } from '../../src/quota/index.ts';
import { wayBack } from '../../src/wire/pages.ts';
import { claimsIn, fieldsOf, mappingSeen, newSource } from '../../web/src/auths/typed.ts';
import { listWords, rulingsIn, type StatedVerdict, worstState } from '../../web/src/own/verdicts.ts';

const free: StatedVerdict = {
  allowed: false,
  state: 'over',
  used: 12,
  limit: 10,
  group: 'free',
  rule: 'total',
};
const lfs: StatedVerdict = { allowed: true, state: 'ok', used: 3, limit: 50, group: 'media', rule: 'lfs' };

t.test('kinds of data that the same rule decides for alike are told once, in the fewest words', async t => {
  const decisions = Object.fromEntries(
    subjects.map(subject => [subject, subject === 'size:git:lfs' ? { ...lfs } : { ...free }]),
  );
  const [first, second, ...rest] = rulingsIn(decisions);
  t.same(rest, []);
  t.same(first?.verdict, free);
  t.same(first?.subjects, ['size:repos:all', 'size:assets:all']);
  t.same(second?.leaves, ['size:git:lfs']);
  const everything = rulingsIn(Object.fromEntries(leaves.map(leaf => [leaf, free])));
  t.equal(listWords(everything[0]?.subjects ?? []), 'everything');
});

t.test('of several states the worst one is told', async t => {
  const near: StatedVerdict = { ...lfs, state: 'near' };
  const rulings = (...verdicts: StatedVerdict[]) =>
    verdicts.map(verdict => ({ verdict, leaves: [], subjects: [] }));
  t.equal(worstState(rulings(near, free, lfs)), 'over');
  t.equal(worstState(rulings(lfs, near)), 'near');
  t.equal(worstState(rulings({ ...free, state: 'ok' }, lfs)), 'ok', 'nothing of it is stored');
  t.equal(worstState([]), 'ok');
});

t.test('every kind of data is told of exactly once', async _t => {
  const verdict = fc.constantFrom(free, lfs, { ...lfs, allowed: false });
  fc.assert(
    fc.property(fc.array(verdict, { minLength: leaves.length, maxLength: leaves.length }), verdicts => {
      const decisions = Object.fromEntries(leaves.map((leaf, index) => [leaf, verdicts[index] ?? free]));
      const told = rulingsIn(decisions);
      return (
        told
          .flatMap(ruling => ruling.leaves)
          .toSorted()
          .join() === leaves.toSorted().join() &&
        told.every(ruling => ruling.leaves.every(leaf => decisions[leaf]?.rule === ruling.verdict.rule))
      );
    }),
  );
});

t.test('whoever has signed in goes to a page of ours and nowhere else', async t => {
  const base = new URL('https://git.example/quota/');
  t.equal(wayBack('owners/a%2Fb?sort=name', base), './owners/a%2Fb?sort=name');
  t.equal(wayBack('./mine', base), './mine');
  for (const elsewhere of [
    null,
    '',
    'https://evil.example/quota/mine',
    '//evil.example/quota/mine',
    '/mine',
    '../mine',
    'api/v1/session',
    'sign-in?back=mine',
    'javascript:alert(1)',
    '\\\\evil.example\\quota\\mine',
    'https://git.example:8443/quota/mine',
    'http://',
    'no-page',
  ]) {
    t.equal(wayBack(elsewhere, base), './', String(elsewhere));
  }
  fc.assert(
    fc.property(fc.oneof(fc.webUrl(), fc.string()), asked =>
      new URL(wayBack(asked, base), base).href.startsWith(base.href),
    ),
  );
});

t.test('a mapping tells the place of its fault, and quota groups that there are not', async t => {
  t.same(mappingSeen('{"staff": ["gold", "tin"]}', new Set(['gold'])), { faults: [], unknown: ['tin'] });
  t.same(mappingSeen('', new Set()), { faults: [], unknown: [] });
  t.match(mappingSeen('{"staff": ["gold", 1]}', new Set()).faults, [/at "staff", number 2 of the list/]);
  t.match(mappingSeen('{"staff": "gold"}', new Set()).faults, [/at "staff": expected a list/]);
  t.match(mappingSeen('{"staff"', new Set()).faults, [/not valid JSON/]);
});

t.test('a secret is sent only where one was typed, and claims only where they are an object', async t => {
  t.notOk('client_secret' in fieldsOf(newSource));
  t.equal(fieldsOf({ ...newSource, client_secret: 's' }).client_secret, 's');
  t.same(claimsIn('{"groups": "a, b"}'), { groups: 'a, b' });
  for (const text of ['', '[]', 'null', '"x"', '{']) t.equal(claimsIn(text), null, text);
});
