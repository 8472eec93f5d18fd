/** A disk without room while things are measured: nothing stops, and nothing is lost. */

import { EventEmitter, once } from 'node:events';
import t from 'tap';
import { fill, smallDisk } from '../faults/small-disk.ts';
import { everything, repos, used, World, walk } from './world.ts';

/** A log to wait on. */
function listening() {
  const events = new EventEmitter();
  const log = {
    error: () => events.emit('error-line'),
    warn: () => events.emit('away'),
    info: () => events.emit('back'),
  };
  return { log, away: () => once(events, 'away'), back: () => once(events, 'back') };
}

t.test('on a full disk it decides and counts, says so, and keeps all once there is room', async t => {
  const directory = await smallDisk(t);
  const { log, back } = listening();
  const world = new World(t, { directory, log });
  let ledger = await world.open();
  walk(ledger, 'alice/a', 5);
  t.equal(await ledger.kept(), true);
  const makeRoom = fill(directory);

  for (let n = 0; n < 3000; n++) walk(ledger, `bob/${n}`, 10);
  t.equal(await ledger.kept(), false);
  const { storeAway } = ledger;
  t.match(storeAway?.reason, /the disk is full/);
  t.ok(storeAway !== null && Math.abs(Date.now() - storeAway.since) < 60_000);
  t.equal(ledger.decide('bob', repos).decision.allowed, false, 'what could not be kept counts all the same');
  walk(ledger, 'alice/a', 6);
  ledger.walks.recordGone('/srv/git/bob/0.git', ledger.walks.nextSeq());
  ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 3000 }, [], () => true);
  t.equal(ledger.storeAway?.since, storeAway?.since, 'since the first that was not kept');

  const isBack = back();
  makeRoom();
  await isBack;
  t.equal(await ledger.kept(), true);
  t.equal(ledger.storeAway, null);
  const before = everything(ledger);
  ledger = await world.open();
  t.strictSame(everything(ledger), before);
  t.equal(used(ledger, 'bob'), 29_990);
  t.strictSame(ledger.walks.lastSweep, { startedAt: 1, finishedAt: 2, units: 3000 });
});

t.test('what a program reports on a full disk is refused and changes nothing', async t => {
  const directory = await smallDisk(t);
  const { log, away, back } = listening();
  const world = new World(t, { directory, log });
  let ledger = await world.open();
  walk(ledger, 'alice/a', 5);
  await ledger.reports.reportUnit('alice', 'size:assets:artifacts', 'ci', 3);
  await ledger.kept();
  const makeRoom = fill(directory);

  // The store may still have room in its log for a few small writes: what is taken counts.
  const isAway = away();
  const taken = { deltas: 0, newcomers: 0, reported: 3 };
  const refusals: unknown[] = [];
  const attempts = [
    async () => {
      await ledger.reports.addDelta('alice', repos, 1);
      taken.deltas += 1;
    },
    async () => {
      await ledger.reports.addDelta(`newcomer-${taken.newcomers}`, repos, 1);
      taken.newcomers += 1;
    },
    async () => {
      await ledger.reports.reportUnit('alice', 'size:assets:artifacts', 'ci', taken.reported + 1);
      taken.reported += 1;
    },
  ];
  for (let n = 0; refusals.length < 9; n++) {
    await attempts[n % attempts.length]?.().catch(error => refusals.push(error));
    t.equal(used(ledger, 'alice'), 5 + taken.deltas);
    t.equal(used(ledger, 'alice', 'size:assets:artifacts'), taken.reported);
    t.equal([...ledger.owners()].length, 1 + taken.newcomers);
  }
  await isAway;
  for (const refusal of refusals) t.match(refusal, { code: 'store_away' });

  const isBack = back();
  makeRoom();
  await isBack;
  await ledger.reports.addDelta('alice', repos, 1);
  ledger = await world.open();
  t.equal(used(ledger, 'alice'), 6 + taken.deltas);
  t.equal(used(ledger, 'alice', 'size:assets:artifacts'), taken.reported);
  t.equal([...ledger.owners()].length, 1 + taken.newcomers);
});
