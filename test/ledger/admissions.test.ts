/** What starts with several hosts: the shared store decides, and what changes while it is asked counts. */

import t, { type Test } from 'tap';
import type { Ledger, SharedRequest } from '../../src/ledger/index.ts';
import { usageOf } from '../../src/quota/index.ts';
import type { OthersReserved } from '../../src/store/index.ts';
import { repos, settings, World, walk } from './world.ts';

const unit = '/srv/git/alice/app.git';

/** Other hosts store 2,500 bytes, and the store answers after what `meanwhile` does. */
async function open(t: Test, meanwhile: (ledger: Ledger) => void) {
  const ledger = await new World(t).open();
  ledger.settings = { ...settings, precise: true };
  walk(ledger, 'alice/app', 1000, { path: unit });
  const asked: number[] = [];
  const elsewhere: OthersReserved = {
    usage: usageOf({ [repos]: 2500 }),
    unreachable: usageOf({}),
    reserved: [],
  };
  ledger.admissions.shareWith({
    reserve: async ({ limits, parts }: SharedRequest) => {
      const [[rule] = []] = limits ?? [];
      const own = (rule?.ownBytes ?? 0) + (parts[0]?.bytes ?? 0);
      asked.push(own);
      const isRefused = own + 2500 > (rule?.limitBytes ?? 0);
      if (isRefused) meanwhile(ledger);
      return isRefused ? elsewhere : null;
    },
    ended: () => {},
  });
  const push = (id: string, bytes: number) =>
    ledger.admissions.admit({
      ownerName: 'alice',
      subject: repos,
      parts: [{ id, bytes }],
      end: 'landed',
      unit,
      seconds: 600,
    });
  return { ledger, asked, push };
}

t.test('a push that is measured while the store answers still counts', async t => {
  const { push, asked, ledger } = await open(t, ({ reservations, walks }) => {
    for (const each of reservations.all) reservations.landed(each, unit, walks.nextSeq());
    walk(ledger, 'alice/app', 5000, { path: unit });
  });
  t.ok((await push('first', 4000)).decision.allowed);
  const second = await push('second', 3000);
  t.notOk(second.decision.allowed, 'as much is there as was on its way');
  t.match(second.decision, { used: 7500 });
  t.strictSame(second.reservations, []);
  t.strictSame(asked, [5000, 8000]);
});

t.test('where room came while the store refused, it is asked once more', async t => {
  const { push, asked, ledger } = await open(t, ({ reservations }) => reservations.release(reservations.all));
  t.ok((await push('first', 6000)).decision.allowed);
  const second = await push('second', 3000);
  t.ok(second.decision.allowed);
  t.strictSame(asked, [7000, 10_000, 4000], 'nothing is let through that is not reserved there');
  t.strictSame(
    ledger.reservations.all.map(({ id }) => id),
    ['second'],
  );
});
