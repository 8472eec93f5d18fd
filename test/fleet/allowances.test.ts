/** Allowances and requests where several hosts share the quota. */

import t from 'tap';
import type { Ledger } from '../../src/ledger/index.ts';
import { allowancesOf, createAllowance } from '../../src/policy/index.ts';
import { walk } from '../ledger/world.ts';
import { startSingle } from '../store/redis-servers.ts';
import { member, sharedStore } from './world.ts';

const limitOf = (ledger: Ledger) => ledger.decide('alice', 'size:all').decision.limit;

t.test('an allowance counts on each host, ends on each by itself, and its end is one event', async t => {
  const { address } = await startSingle(t);
  const store = await sharedStore(t, address);
  const one = await member(t, { address, host: 'one' });
  const two = await member(t, { address, host: 'two' });
  walk(one.ledger, 'alice/app', 12_000);
  await one.ledger.documents.transact(transaction => transaction.createOwner('bob'));
  const end = (Math.floor(Date.now() / 1000) + 2) * 1000;
  await one.ledger.documents.transact(transaction => {
    const owner = transaction.owner('alice') ?? transaction.createOwner('alice');
    createAllowance(transaction.changes, owner.id, {
      bytes: 5000,
      until: end,
      why: 'a release',
      grantedBy: null,
      grantedAt: Date.now(),
      request: null,
      automatic: false,
    });
  });
  await two.fleet.catchUp();
  const hosts = [one, two];
  t.strictSame(
    hosts.map(({ ledger }) => limitOf(ledger)),
    [15_000, 15_000],
  );
  const told = hosts.map(
    ({ ledger }) =>
      new Promise<number>(resolve => {
        const unwatch = ledger.watch(key => {
          if (key !== 'alice') return;
          unwatch();
          resolve(Date.now());
        });
      }),
  );
  for (const { ledger } of hosts) ledger.graces.start();
  for (const time of await Promise.all(told)) t.ok(time >= end, 'not before its end');
  t.strictSame(
    hosts.map(({ ledger }) => limitOf(ledger)),
    [10_000, 10_000],
  );
  for (const { ledger, fleet } of hosts) {
    await ledger.graces.close();
    await fleet.catchUp();
    const { id = 0 } = ledger.documents.owners.named('alice') ?? {};
    t.match(allowancesOf(ledger.documents.snapshot, id, 0), [{ endedAt: Number }], 'for a day');
  }
  t.equal((await store.events({ kinds: ['allowance'], limit: 9 })).length, 1);
});
