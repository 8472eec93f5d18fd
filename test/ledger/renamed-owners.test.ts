/** Owners who may have been renamed on the disk alone. */

import t, { type Test } from 'tap';
import { renamedOwners } from '../../src/ledger/renamed-owners.ts';
import { assign, createGroup } from '../../src/policy/index.ts';
import { longestTurn } from '../own-time.ts';
import { SetClock, World, walk } from './world.ts';

const hour = 3_600_000;

async function open(t: Test) {
  const clock = new SetClock();
  const ledger = await new World(t, { clock }).open();
  const joinAll = (names: readonly string[]) =>
    ledger.documents.transact(transaction => {
      for (const name of names) assign(transaction.changes, transaction.mustBeOwner(name).id, 'free');
    });
  await ledger.documents.transact(({ changes }) => {
    createGroup(changes, { name: 'free', rules: [] });
  });
  const appear = (name: string) => void walk(ledger, `${name}/app`, 1);
  const vanish = (name: string) =>
    ledger.walks.recordGone(`/srv/git/${name}/app.git`, ledger.walks.nextSeq());
  const found = () =>
    renamedOwners(ledger).map(({ message }) => /^Owner "(.*?)".*and "(.*?)" came/.exec(message)?.slice(1));
  return { clock, ledger, joinAll, appear, vanish, found };
}

t.test('the nearest newcomer within a day who lacks a group is named', async t => {
  const { clock, joinAll, appear, vanish, found } = await open(t);
  for (const name of ['bob', 'carol']) appear(name);
  await joinAll(['bob', 'carol']);
  clock.pass(30 * hour);
  appear('far');
  clock.pass(5 * hour);
  appear('near');
  clock.pass(hour);
  vanish('bob');
  t.strictSame(found(), [['bob', 'near']]);
  await joinAll(['near']);
  t.strictSame(found(), [['bob', 'far']], 'the nearest one has all groups now');
  clock.pass(2 * hour);
  appear('later');
  t.strictSame(found(), [['bob', 'later']]);
  clock.pass(25 * hour);
  vanish('carol');
  t.strictSame(found(), [['bob', 'later']], 'nobody came within a day');
  appear('bob');
  t.strictSame(found(), []);
});

t.test('many owners who left and many who came are compared in a moment', async t => {
  const { clock, ledger, joinAll, appear, vanish, found } = await open(t);
  const numbered = (name: string) => Array.from({ length: 1000 }, (_, n) => `${name}${n}`);
  const [olds, news] = [numbered('old'), numbered('new')];
  for (const name of olds) appear(name);
  await joinAll(olds);
  clock.pass(48 * hour);
  const begun = clock.wallMs;
  for (const [n, name] of news.entries()) {
    // In no order of time, since a list that is in order is sorted in a moment.
    clock.wallMs = begun + ((n * 7919) % 1000) * 1000;
    appear(name);
  }
  for (const name of olds) vanish(name);
  const ask = () => longestTurn(50, async () => renamedOwners(ledger));
  t.ok((await ask()) < 50);
  t.equal(found().length, 100, 'those who left last');
  await joinAll(news);
  t.ok((await ask()) < 50, 'also where each newcomer has all groups');
  t.strictSame(found(), []);
  await ledger.kept();
});

t.test(
  'owners who lost their last unit are forgotten with a sweep, a week later or if they are back',
  async t => {
    const { clock, ledger, appear, vanish } = await open(t);
    for (const name of ['alice', 'bob', 'carol']) appear(name);
    for (const name of ['alice', 'bob']) vanish(name);
    appear('alice');
    const sweepAnd = () => {
      const at = clock.wall();
      ledger.walks.recordSweep({ startedAt: at, finishedAt: at, units: 0 }, [], () => true);
      return [...ledger.walks.emptied.keys()];
    };
    t.strictSame(sweepAnd(), ['bob']);
    clock.pass(6 * 24 * hour);
    vanish('carol');
    t.strictSame(sweepAnd(), ['bob', 'carol']);
    clock.pass(25 * hour);
    t.strictSame(sweepAnd(), ['carol']);
  },
);
