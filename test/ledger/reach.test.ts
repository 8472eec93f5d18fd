/**
 * Unreachable bytes that the worker reports count for what it measured, and no longer than they can be true.
 */

import fc from 'fast-check';
import t, { type Test } from 'tap';
import { answerMs } from '../../src/ledger/reach.ts';
import { leafIndex } from '../../src/quota/index.ts';
import { repos, SetClock, settings, World, walk } from './world.ts';

const path = '/srv/git/alice/one.git';
const forgive = { ...settings, garbage: 'forgive' as const };

async function open(t: Test) {
  const clock = new SetClock();
  const world = new World(t, { clock });
  const ledger = await world.open();
  ledger.settings = forgive;
  const unreachable = (owner = 'alice') => ledger.ownerUsage(owner).unreachable?.[leafIndex(repos)] ?? 0;
  const said = (unreachableBytes: number, reachableBytes: number, number = ledger.reach.number, of = path) =>
    ledger.reach.measured(of, { unreachableBytes, reachableBytes }, number);
  return { clock, world, ledger, unreachable, said };
}

t.test('it falls as the repository shrinks, stays as it grows, and goes with it', async t => {
  const { ledger, unreachable, said } = await open(t);
  said(70, 30);
  t.equal(unreachable(), 0, 'nothing is known of such a repository');
  walk(ledger, 'alice/one', 110);
  said(70, 30);
  t.equal(unreachable(), 70);
  t.match(ledger.decide('alice', repos).decision, { used: 40, garbage: { stored: 110, billed: 40 } });
  walk(ledger, 'alice/one', 160);
  t.equal(unreachable(), 70, 'what comes counts');
  walk(ledger, 'alice/one', 60);
  t.equal(unreachable(), 30, 'garbage was collected');
  walk(ledger, 'alice/one', 20);
  t.equal(unreachable(), 0);
  t.equal(ledger.ownerUsage('alice').unreachable, null);
  walk(ledger, 'alice/one', 110);
  t.equal(unreachable(), 70);
  walk(ledger, 'alice/one', 110, { owner: 'bob' });
  t.equal(unreachable(), 0);
  t.equal(unreachable('bob'), 70, 'whose it is has changed');
  ledger.walks.recordGone(path, ledger.walks.nextSeq());
  t.equal(unreachable('bob'), 0);
  walk(ledger, 'alice/one', 110);
  t.equal(unreachable(), 0, 'another one of the same name');
  walk(ledger, 'alice/two', 110);
  said(70, 30, ledger.reach.number, '/srv/git/alice/two.git');
  t.equal(unreachable(), 70);
  ledger.reach.measured('/srv/git/alice/two.git', null, ledger.reach.number);
  t.equal(unreachable(), 0, 'it could not be measured');
  await ledger.reports.reportUnit('alice', repos, 'reported', 500);
  said(70, 30, ledger.reach.number, 'reported');
  t.equal(unreachable(), 0, 'only what is walked');
});

t.test('a change that no answer follows takes the word back, and an answer keeps it', async t => {
  const { clock, ledger, unreachable, said } = await open(t);
  const lapsed: string[] = [];
  ledger.reach.onLapse = gone => lapsed.push(gone);
  walk(ledger, 'alice/one', 110);
  said(70, 30);
  clock.pass(10 * answerMs);
  ledger.reach.lapse();
  t.equal(unreachable(), 70, 'nothing has changed');
  ledger.reach.doubt(path);
  clock.pass(answerMs - 1);
  ledger.reach.lapse();
  t.equal(unreachable(), 70);
  t.same([...ledger.reach.doubted], [path]);
  said(60, 40);
  clock.pass(2);
  ledger.reach.lapse();
  t.equal(unreachable(), 60);
  t.same([...ledger.reach.doubted], []);

  const before = ledger.reach.number;
  ledger.reach.doubt(path);
  said(65, 35, before);
  t.equal(unreachable(), 65);
  clock.pass(answerMs);
  ledger.reach.lapse();
  t.equal(unreachable(), 0, 'what was measured before is no answer');
  t.same(lapsed, [path]);
  said(50, 50);
  t.equal(unreachable(), 50);

  const earlier = ledger.reach.number;
  ledger.reach.doubt(path);
  clock.pass(answerMs / 2);
  ledger.reach.doubt(path);
  said(50, 50, earlier);
  clock.pass(answerMs / 2);
  ledger.reach.lapse();
  t.equal(unreachable(), 0, 'what is older than both puts nothing off');

  ledger.reach.doubt(path);
  const between = ledger.reach.number;
  ledger.reach.doubt(path);
  said(50, 50, between);
  clock.pass(answerMs);
  ledger.reach.lapse();
  t.equal(unreachable(), 0, 'what answers one leaves the other');
});

t.test('what is left of a doubt that was settled in part is newer than the doubts before it', async t => {
  const { ledger } = await open(t);
  ledger.reach.doubt('/srv/git/a.git');
  const { number } = ledger.reach;
  ledger.reach.doubt('/srv/git/b.git');
  ledger.reach.doubt('/srv/git/a.git');
  ledger.reach.measured('/srv/git/a.git', null, number);
  t.same([...ledger.reach.doubted], ['/srv/git/b.git', '/srv/git/a.git']);
});

t.test('who pushes all the time keeps no answer from counting', async t => {
  const { clock, ledger, unreachable, said } = await open(t);
  walk(ledger, 'alice/one', 110);
  said(70, 30);
  for (let at = 0; at < 30; at++) {
    const number = ledger.reach.number;
    ledger.reach.doubt(path);
    clock.pass(answerMs / 10);
    said(70, 30, number);
    ledger.reach.lapse();
    t.equal(unreachable(), 70);
  }
  for (let at = 0; at < 11; at++) {
    ledger.reach.doubt(path);
    clock.pass(answerMs / 10);
    ledger.reach.lapse();
  }
  t.equal(unreachable(), 0);
});

t.test('it outlives a restart, and goes once it is forgotten', async t => {
  const { world, ledger, said } = await open(t);
  walk(ledger, 'alice/one', 110);
  walk(ledger, 'bob/one', 50);
  said(70, 30);
  await ledger.kept();
  const again = await world.open();
  again.settings = forgive;
  t.match(again.decide('alice', repos).decision, { used: 40, garbage: { unreachable: 70 } });
  again.settings = settings;
  t.equal(again.ownerUsage('alice').unreachable, null, 'GARBAGE = bill');
  t.equal(again.decide('alice', repos).decision.used, 110);
  t.equal(again.reach.forget(), 1);
  t.equal(again.reach.forget(), 0);
  await again.kept();
  const last = await world.open();
  last.settings = forgive;
  t.equal(last.ownerUsage('alice').unreachable, null);
});

t.test('sums are those of the units, after any changes, and other hosts count with them', async t => {
  const change = fc.tuple(
    fc.constantFrom('walk', 'say', 'gone', 'public', 'share'),
    fc.constantFrom('alice/one', 'alice/two', 'bob/one'),
    fc.nat(100),
    fc.nat(100),
  );
  const law = fc.asyncProperty(fc.array(change, { maxLength: 40 }), async changes => {
    const world = new World(t);
    const ledger = await world.open();
    ledger.settings = forgive;
    const others = new Map<string, number>();
    for (const [what, place, a, b] of changes) {
      const [owner = ''] = place.split('/');
      const of = `/srv/git/${place}.git`;
      if (what === 'walk') walk(ledger, `alice/${place.slice(-3)}`, a, { path: of, owner });
      if (what === 'public')
        walk(ledger, `alice/${place.slice(-3)}`, a, { path: of, owner, leaf: 'size:repos:public' });
      if (what === 'say')
        ledger.reach.measured(of, { unreachableBytes: a, reachableBytes: b }, ledger.reach.number);
      if (what === 'gone') ledger.walks.recordGone(of, ledger.walks.nextSeq());
      if (what === 'share' && ledger.documents.owners.named(owner) !== undefined) {
        const unreachable = a === 0 ? {} : { unreachable: { [repos]: a } };
        const share = {
          bytes: { [repos]: a + b },
          units: 1,
          partial: false,
          measuredAt: null,
        };
        ledger.shares.takeShares('two', [
          [owner, { ...share, ownerKey: owner, host: 'two', ...unreachable }],
        ]);
        others.set(owner, a);
      }
      for (const each of ['alice', 'bob']) {
        const own = [...ledger.units.units]
          .filter(unit => unit.owner === each)
          .map(({ bytes, reach }) =>
            reach === undefined
              ? 0
              : Math.max(0, Math.min(reach.unreachableBytes, bytes - reach.reachableBytes)),
          );
        const sum = own.reduce((all, one) => all + one, others.get(each) ?? 0);
        const told = ledger.ownerUsage(each).unreachable?.reduce((all, one) => all + one, 0) ?? 0;
        if (told !== sum) throw new Error(`${each}: ${told} instead of ${sum}`);
      }
    }
    await world.close();
  });
  await fc.assert(law, { numRuns: 15 });
});
