/** Keys that are missing in app.ini: a scan accepts that, or they come back. */

import t from 'tap';
import { walk } from '../ledger/world.ts';
import { PushWorld } from './push-world.ts';

t.test('a scan that cannot accept missing keys says so, and its figures count', async t => {
  let isAway = true;
  const accepted = async () => {
    if (isAway) throw new Error('the store is away');
  };
  const { ledger, measuring } = await PushWorld.open(t, { hasHooks: false, accepted });
  const accept = async () => {
    const run = measuring.scanner.sweep({ kind: 'sweep', acceptMoved: true });
    await run.done;
    return run;
  };
  const before = ledger.walks.lastSweep;
  t.match(await accept(), { state: 'failed', error: 'the store is away' });
  const failed = ledger.walks.lastSweep;
  t.not(failed, before);
  isAway = false;
  t.match(await accept(), { state: 'done', error: null });
  t.not(ledger.walks.lastSweep, failed);
});

t.test('a reload with the keys that were missing ends what they kept, whatever else it has', async t => {
  let missing = ['[storage.lfs] PATH'];
  const world = await PushWorld.open(t, { hasHooks: false, missingKeys: () => missing });
  const { config, ledger, measuring } = world;
  // No storage has it any more.
  const { path } = walk(ledger, 'bob/b', 100);
  await world.sweep();
  t.match(ledger.units.unit(path), { partial: true });
  missing = [];
  const sweepOf = () => {
    const [before] = measuring.scanner.runs();
    measuring.reconfigure(config);
    const [run] = measuring.scanner.runs();
    return run === before ? undefined : run;
  };
  await sweepOf()?.done;
  await world.sweep();
  t.equal(ledger.units.unit(path), undefined);
  t.equal(sweepOf(), undefined, 'after that a reload begins none');
});
