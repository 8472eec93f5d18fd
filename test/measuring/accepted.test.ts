/** A scan that accepts what is missing. */

import t from 'tap';
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
