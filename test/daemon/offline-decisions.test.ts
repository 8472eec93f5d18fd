/** What hooks say they decided alone: one line of the log for each report, and no unit again and again. */

import t from 'tap';
import { OfflineDecisions } from '../../src/daemon/offline-decisions.ts';
import type { OfflineReport } from '../../src/gate/index.ts';

const start = Date.parse('2026-11-21T09:14:03Z');
const decision = { at: start - 60_000, allowed: true, reason: 'the daemon does not answer', actor: 'alice' };

function opened() {
  const logged: { readonly details: object; readonly message: string }[] = [];
  const clock = { now: start };
  const log = { info: (details: object, message: string) => logged.push({ details, message }) };
  const offlineDecisions = new OfflineDecisions({ log, now: () => clock.now });
  const tell = (unit: string, told: Partial<OfflineReport> = {}) =>
    offlineDecisions.record({ unit, decisions: [decision], notUnderstood: 0, passedOver: 0, ...told });
  return { offlineDecisions, tell, logged, clock };
}

t.test('a report is one line of the log, however many decisions it has', async t => {
  const { offlineDecisions, tell, logged } = opened();
  const decisions = [decision, { ...decision, allowed: false, at: start + 3_600_000 }];
  t.equal(tell('/srv/git/alice/app.git', { decisions, notUnderstood: 1, passedOver: 2 }), true);
  t.match(logged, [
    {
      details: {
        unit: '/srv/git/alice/app.git',
        letThrough: 1,
        refused: 1,
        notUnderstood: 1,
        passedOver: 2,
        decisions: [{ at: '2026-11-21T09:13:03.000Z', actor: 'alice' }, { allowed: false }],
      },
    },
  ]);
  t.strictSame(
    offlineDecisions.tally,
    { letThrough: 1, refused: 1, lastAt: start },
    'none was later than now',
  );
});

t.test('a unit is heard once in ten seconds, and others meanwhile', async t => {
  const { offlineDecisions, tell, logged, clock } = opened();
  t.equal(tell('a'), true);
  t.equal(tell('a'), false);
  t.equal(tell('b'), true);
  clock.now += 9999;
  t.equal(tell('a'), false);
  clock.now += 1;
  t.equal(tell('a'), true);
  t.equal(logged.length, 3);
  t.match(offlineDecisions.tally, { letThrough: 3 });
  clock.now -= 3_600_000;
  t.equal(tell('a'), true, 'also where the clock is set back');
});

t.test('of all units together no more than a thousand are heard in that time', async t => {
  const { tell, logged, clock } = opened();
  for (let n = 0; n < 1000; n++) tell(`unit ${n}`);
  t.equal(tell('one more'), false);
  t.equal(logged.length, 1000);
  clock.now += 10_000;
  t.equal(tell('one more'), true);
});

t.test('a report without a decision that is understood is no decision', async t => {
  const { offlineDecisions, tell } = opened();
  t.equal(tell('a', { decisions: [], notUnderstood: 5 }), true);
  t.equal(offlineDecisions.tally, null);
});
