/** Addresses, words and values that pages make of the daemon's answers and of input, without a browser. */

import fc from 'fast-check';
import t from 'tap';
import { leaves, subjects } from '../../src/quota/index.ts';
import { addressOf, placeAt, wayBack } from '../../src/wire/pages.ts';
import { changesOf, claimsIn, fieldsOf, mappingSeen, newSource } from '../../web/src/auths/typed.ts';
import { proposal } from '../../web/src/own/proposal.ts';
import { listWords, rulingsIn, type StatedVerdict, worstState } from '../../web/src/own/verdicts.ts';

const free: StatedVerdict = {
  allowed: false,
  state: 'over',
  used: 12,
  limit: 10,
  group: 'free',
  rule: 'total',
  per: 'owner',
};
const lfs: StatedVerdict = {
  allowed: true,
  state: 'ok',
  used: 3,
  limit: 50,
  group: 'media',
  rule: 'lfs',
  per: 'owner',
};

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
    `owners?q=${'a'.repeat(1000)}`,
  ]) {
    t.equal(wayBack(elsewhere, base), './', String(elsewhere).slice(0, 40));
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

t.test('of a source only what was changed in its form is sent', async t => {
  const opened = { ...newSource, name: 'staff', client_id: 'a' };
  t.same(changesOf(opened, opened), {});
  t.same(changesOf(opened, { ...opened, client_id: ' b ', is_active: false }), {
    client_id: 'b',
    is_active: false,
  });
  t.same(changesOf(opened, { ...opened, hasNoSecret: true }), { client_secret: '' });
});

t.test('a path is one page or none', async t => {
  t.same(placeAt('/'), { page: 'overview', name: null });
  t.same(placeAt('/owners'), { page: 'owners', name: null });
  t.same(placeAt('/owners/alice'), { page: 'owner', name: 'alice' });
  t.same(placeAt('/mine/tokens'), { page: 'myTokens', name: null });
  for (const path of [
    '',
    '/owners/',
    '/owners/a/b',
    '/Owners',
    '/index.html',
    '/owners/%ff',
    '/mine/else',
    '//',
  ]) {
    t.equal(placeAt(path), null, path);
  }
});

t.test('the address of a place leads there, whatever its name', async t => {
  t.equal(addressOf('overview'), './');
  t.equal(addressOf('owner', 'a/b?c#d'), 'owners/a%2Fb%3Fc%23d');
  const names = fc.string({ unit: 'grapheme', minLength: 1 }).filter(name => name !== '.' && name !== '..');
  fc.assert(
    fc.property(names, name => {
      const { pathname } = new URL(addressOf('rule', name), 'http://host/quota/');
      t.same(placeAt(pathname.slice('/quota'.length)), { page: 'rule', name });
    }),
  );
});

const now = Date.parse('2026-11-23T12:00:00Z');
const verdict = { allowed: true, used: 5e9, limit: 10e9, group: null, rule: null, per: 'owner' as const };
const growth = { per_day: 1e8, since: '2026-11-01T00:00:00Z', used: 5e9, limit: 10e9, reached_at: null };
const figures = (used: number, limit: number) => ({
  auto_grant: null,
  decisions: {
    'size:all': { ...verdict, used, limit },
    'size:git:lfs': { ...verdict, used: 1, limit: 100e9 },
  },
});

t.test('it is what is over the limit, and what comes in thirty days at the present growth', async t => {
  t.match(proposal(figures(12.4e9, 10e9), growth, now), {
    size: '5.4 GB',
    lastDay: /^2026-12-2[234]$/,
    why: /^12\.4 GB of 10 GB are used \(124 %\)\. At the present growth of 700 MB a week/,
  });
  t.match(proposal(figures(12.4e9, 10e9), { ...growth, per_day: -1e8 }, now), { size: '2.4 GB' });
  const pool = { ...verdict, used: 12.4e9, limit: 10e9, per: 'group' as const, group: 'lab', share: 1e9 };
  t.match(proposal({ auto_grant: null, decisions: { 'size:all': pool } }, null, now), {
    why: '12.4 GB of 10 GB are used by all members of lab together (124 %).',
  });
});

t.test('it is a tenth of the limit where neither calls for more, and nothing without a limit', async t => {
  t.match(proposal(figures(1e9, 10e9), null, now), { size: '1 GB', why: '1 GB of 10 GB are used (10 %).' });
  const unlimited = { auto_grant: null, decisions: { 'size:all': { ...verdict, limit: -1 } } };
  t.match(proposal(unlimited, null, now), { size: '', why: '' });
});

t.test('it lasts no longer than what is granted at once', async t => {
  const autoGrant = { bytes: 1, seconds: 7 * 86_400, every_seconds: 1 };
  const filled = proposal({ ...figures(1e9, 10e9), auto_grant: autoGrant }, null, now);
  t.match(filled.lastDay, /^2026-11-(29|30)$|^2026-12-01$/);
});
