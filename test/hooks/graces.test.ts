/** A push by an owner over the limit whose grace runs: it passes with a warning; it is refused when it is over. */

import t from 'tap';
import { assign, createGroup } from '../../src/policy/index.ts';
import { openWorld } from '../gate/world.ts';
import { SetClock } from '../ledger/world.ts';
import { byEachClient, World } from './world.ts';

const GB = 1_000_000_000;
const day = 86_400_000;

byEachClient(
  'a push under grace passes with a warning, and is refused when it is over',
  async (t, client) => {
    const clock = new SetClock();
    const asked = await openWorld(t, { graceMs: 7 * day, graceMost: { percent: 10 } }, {}, clock);
    const world = await World.open(t, { client });
    await world.configure('softquota.socket', asked.sockets.gate);
    const stores = (bytes: number) => asked.walk(world.bare, 'alice', bytes);
    asked.ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 1 }, [], () => true);
    stores(10.4 * GB);
    asked.ledger.graces.start({ pauseMs: 0 });
    await asked.ledger.graces.settled();

    await world.commit('first');
    const warned = await world.push(['HEAD:main']);
    t.equal(warned.code, 0);
    t.equal(
      World.said(warned),
      'Quota warning: alice uses 10.4 GB of 10 GB (104 %). Refusals begin on 2026-11-28 09:00:00 UTC, or at 11 GB.',
    );

    await world.commit('second');
    stores(11.5 * GB);
    const tooFar = await world.push(['HEAD:main']);
    t.equal(tooFar.code, 1);
    t.match(World.said(tooFar), /\(115 %\)\. The grace reaches only up to 11 GB\./);

    stores(10.4 * GB);
    clock.pass(7 * day);
    const refused = await world.push(['HEAD:main']);
    t.equal(refused.code, 1);
    t.match(
      World.said(refused),
      /^Quota exceeded: .*\(104 %\)\. The grace ended on 2026-11-28 09:00:00 UTC\./,
    );
    await world.git('push', 'origin', 'HEAD~1:refs/heads/other');
    const cleaning = await world.push([':other']);
    t.equal(cleaning.code, 0, 'cleaning always passes');

    stores(9 * GB);
    await asked.ledger.graces.settled();
    const free = await world.push(['HEAD:main']);
    t.equal(free.code, 0);
  },
);

t.test('a push that a rule in report mode would refuse says nothing', async t => {
  const asked = await openWorld(t, { mode: 'enforce' }, {}, new SetClock());
  const world = await World.open(t);
  await world.configure('softquota.socket', asked.sockets.gate);
  asked.walk(world.bare, 'alice', 5 * GB);
  await asked.ledger.documents.transact(transaction => {
    const tried = { name: 'tried', limitBytes: GB, subjects: ['size:all'], mode: 'report' } as const;
    createGroup(transaction.changes, { name: 'free', rules: [tried] });
    assign(transaction.changes, transaction.mustBeOwner('alice').id, 'free');
  });
  await world.commit('first');
  const pushed = await world.push(['HEAD:main']);
  t.strictSame([pushed.code, World.said(pushed)], [0, '']);
  t.match(asked.told.refused, [{ mode: 'report', decision: { rule: 'tried' } }]);
  t.ok((await world.refs()).includes('refs/heads/main'));
});
