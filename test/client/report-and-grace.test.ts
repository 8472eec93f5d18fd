/** Report mode and graces in the client's answers. */

import t from 'tap';
import { open, question } from './client.ts';
import { decision } from './gate.ts';

t.test('in report mode it says what would be refused', async t => {
  const { gate, client } = await open(t);
  gate.answer = decision(true, { would_refuse: true });
  t.match(await client.check(question), { allowed: true, wouldRefuse: true, reported: null });
  const ruling = { used: 5, limit: 4, group: 'free', rule: 'tried' };
  const reported = { ...ruling, message: 'Quota exceeded: alice uses 5 B of 4 B (125 %).' };
  gate.answer = decision(true, { would_refuse: true, reported });
  t.match(await client.check(question), { allowed: true, wouldRefuse: true, reported });
});

t.test('a grace is until when and how far a limit may be passed', async t => {
  const { gate, client } = await open(t);
  const until = '2026-11-28T09:00:00.000Z';
  for (const isAllowed of [true, false]) {
    gate.answer = decision(isAllowed, { grace: { until, below: 1100 } });
    t.match(await client.check(question), {
      allowed: isAllowed,
      grace: { until: new Date(until), below: 1100 },
      wouldRefuse: false,
    });
  }
  for (const grace of [null, {}, 'soon', { until }]) {
    gate.answer = decision(true, { grace });
    t.equal((await client.check(question)).grace, null);
  }
  gate.answer = decision(true, { grace: { until: 'soon', below: 1100 } });
  t.strictSame((await client.check(question)).grace, { until: null, below: 1100 });
});
