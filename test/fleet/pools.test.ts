/** The sum of a group's members, where several hosts share the quota. */

import t from 'tap';
import { assign, createGroup } from '../../src/policy/index.ts';
import { repos, walk } from '../ledger/world.ts';
import { startSingle } from '../store/redis-servers.ts';
import { type Member, member } from './world.ts';

const usedOn = ({ ledger }: Member) => ledger.pools.decisions('lab', 'stored')[0]?.used ?? null;

/** Resolves, once it is so on that host, with the milliseconds that it took. */
function whenUsed(host: Member, bytes: number): Promise<number> {
  const since = performance.now();
  return new Promise(resolve => {
    const unwatch = host.ledger.watch(() => setImmediate(look));
    const look = () => {
      if (usedOn(host) !== bytes) return;
      unwatch();
      resolve(performance.now() - since);
    };
    look();
  });
}

t.test('a push changes the sum on its host at once, and on another one within a second', async t => {
  const { address } = await startSingle(t);
  const one = await member(t, { address, host: 'one', isLive: true });
  const two = await member(t, { address, host: 'two', isLive: true });
  for (const { fleet } of [one, two]) fleet.start();
  await one.ledger.documents.transact(transaction => {
    const { changes } = transaction;
    const rule = { limitBytes: 1000, subjects: ['size:all' as const], per: 'group' as const };
    createGroup(changes, { name: 'lab', rules: [{ name: 'together', ...rule }] });
    for (const name of ['alice', 'bob']) assign(changes, transaction.createOwner(name).id, 'lab');
  });
  await whenUsed(two, 0);
  walk(two.ledger, 'bob/lib', 100);
  t.equal(usedOn(two), 100);
  await whenUsed(one, 100);
  const times: number[] = [];
  for (const bytes of [200, 300, 400, 901]) {
    walk(one.ledger, 'alice/app', bytes);
    t.equal(usedOn(one), bytes + 100, 'at once, where it was measured');
    times.push(await whenUsed(two, bytes + 100));
  }
  // A busy machine may be late once.
  t.ok(Math.min(...times) < 1000, times.join(' ms, '));
  t.match(two.ledger.decide('bob', repos).decision, { allowed: false, used: 1001, share: 100 });
});
