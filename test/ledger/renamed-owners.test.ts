/** Owners who may have been renamed on the disk alone. */

import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Ledger } from '../../src/ledger/index.ts';
import { renamedOwners } from '../../src/ledger/renamed-owners.ts';
import { assign, createGroup } from '../../src/policy/index.ts';
import { openStore } from '../../src/store/index.ts';
import { longestTurn } from '../own-time.ts';
import { share } from '../store/records.ts';
import { directoryFor, lfs, openOn, SetClock, settings, silentLog, used, World, walk } from './world.ts';

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

t.test('a report under the old name during a rename is about somebody new', async t => {
  const store = await openStore({ file: join(directoryFor(t), 'softquota.db') });
  const write = store.write.bind(store);
  const ledger = await openOn(store);
  t.teardown(() => ledger.close());
  const { id } = await ledger.documents.transact(transaction => transaction.createOwner('alice'));
  let reported: Promise<unknown> | null = null;
  store.write = async changes => {
    store.write = write;
    const writing = write(changes);
    // Both are written behind the rename, which counts only then.
    reported = Promise.all([
      ledger.reports.reportUnit('alice', lfs, 'store', 5),
      ledger.reports.addDelta('alice', lfs, 2),
    ]);
    await writing;
  };
  await ledger.documents.transact(transaction => transaction.renameOwner('alice', 'bob', () => false));
  await reported;
  const { owners } = ledger.documents;
  t.equal(owners.byId(id)?.name, 'bob');
  t.not(owners.named('alice')?.id, id);
  t.equal(used(ledger, 'alice', lfs), 7);
});

t.test('usage of another host does not count on one that has its name now', async t => {
  const file = join(directoryFor(t), 'softquota.db');
  const as = async <T>(host: string, work: (ledger: Ledger) => T) => {
    const ledger = await Ledger.open({
      store: await openStore({ file }),
      host,
      settings,
      foldCase: true,
      log: silentLog,
    });
    try {
      return work(ledger);
    } finally {
      await ledger.close();
    }
  };
  await as('one', ({ shares }) => shares.takeShares('two', [['alice', share('alice', 'two')]]));
  t.equal(await as('one', ({ shares }) => shares.others.size), 1);
  t.equal(await as('two', ledger => used(ledger, 'alice')), 0);
  t.equal(await as('one', ({ shares }) => shares.others.size), 0);
});
