/** Usage that others told is read whole, whatever breaks off meanwhile. */

import t from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import { UsageReader } from '../../src/fleet/usage.ts';
import { until } from '../e2e/ask.ts';
import { repos, used, walk } from '../ledger/world.ts';
import { share } from '../store/records.ts';
import { startSingle } from '../store/redis-servers.ts';
import { sharesOf, tell } from '../store/shared-place.ts';
import { makeRule, member, prefix, sharedStore } from './world.ts';

const sized = (ownerKey: string, bytes: number) => share(ownerKey, 'other', { bytes: { [repos]: bytes } });

t.test('a reading that breaks off takes nobody away, and is begun again', async t => {
  const { address } = await startSingle(t);
  const store = await sharedStore(t, address);
  await tell(store, 'other', [sized('alice', 5), sized('bob', 7)]);
  let fails = false;
  const one = await member(t, {
    address,
    host: 'one',
    through: store => ({
      ...store,
      usage: async function* (host) {
        for await (const page of store.usage(host)) {
          yield page.slice(0, 1);
          if (fails) throw new SoftquotaError('store_away', 'it breaks off');
          yield page.slice(1);
        }
      },
    }),
  });
  await one.fleet.catchUp();
  const both = () => [used(one.ledger, 'alice'), used(one.ledger, 'bob')];
  t.strictSame(both(), [5, 7]);
  const from = (await store.state()).usage.get('other') ?? null;
  const anew = { from, to: 'second 0', usage: new Map(), gone: [], largest: new Map() };
  await store.tellUsage('other', anew);
  fails = true;
  for (let look = 0; look < 3; look += 1) {
    await t.rejects(one.fleet.catchUp(), { code: 'store_away' });
    t.strictSame(both(), [5, 7]);
  }
  fails = false;
  await tell(store, 'other', [sized('bob', 8)], ['alice']);
  await one.fleet.catchUp();
  t.strictSame(both(), [0, 8]);
});

t.test('a reading that was begun of another place ends where the known one is there again', async t => {
  const reader = new UsageReader({
    shares: { lookThrough: async () => {}, takeShares: () => {} },
    store: {
      usage: async function* () {
        yield* [[], []];
      },
      usageAfter: async () => ({ number: 0, shares: [], isMore: false }),
    },
    host: 'one',
  });
  const told = (place: string, ms: number) =>
    reader.sync(new Map([['other', place]]), performance.now() + ms);
  await told('first 1', 60_000);
  t.equal(reader.isReading, false);
  await told('second 1', -1);
  t.equal(reader.isReading, true);
  await told('first 1', -1);
  t.equal(reader.isReading, false, 'else it would be looked for without a rest');
  await told('second 1', -1);
  reader.lost();
  t.equal(reader.isReading, false, 'a reading is not gone on with on another server');
});

t.test('an owner whom a host may not put on record has the name that was found on all hosts', async t => {
  const { address } = await startSingle(t);
  const store = await sharedStore(t, address);
  const other = await member(t, { address, host: 'other' });
  const refused = async () => {
    throw new SoftquotaError('store_refused', 'no right to change the policy');
  };
  const one = await member(t, {
    ...{ address, host: 'one' },
    through: store => ({ ...store, commit: refused }),
  });
  walk(one.ledger, 'Alice of Ö/app', 5);
  one.fleet.start();
  await until(async () => ((await sharesOf(store, 'one')).length === 1 ? true : null));
  await other.fleet.catchUp();
  t.equal(used(other.ledger, 'Alice of Ö'), 5);
  await makeRule(other, 'total');
  await one.fleet.catchUp();
  for (const { ledger } of [one, other])
    t.equal(ledger.documents.owners.named('alice of Ö')?.name, 'Alice of Ö');
  t.match((await store.policy()).policy.owners, [{ name: 'Alice of Ö' }]);
  await tell(store, 'third', [share('bob', 'third')]);
  await other.fleet.catchUp();
  t.equal(other.ledger.documents.owners.named('bob')?.name, 'bob');
  other.ledger.shares.takeShares('third', [['carol', share('carol', 'third'), 'Mallory']]);
  t.equal(other.ledger.documents.owners.named('carol')?.name, 'carol', 'a name of somebody else is none');
});

t.test('usage of one host that cannot be read keeps no other from being read or told', async t => {
  const { address, servers } = await startSingle(t);
  const store = await sharedStore(t, address);
  await tell(store, 'a-bad', [share('alice', 'a-bad', { bytes: { [repos]: 5 } })]);
  await tell(store, 'other', [sized('alice', 7)]);
  await servers[0].cli('hset', `${prefix}:usage:a-bad`, 'alice', 'no usage');
  const one = await member(t, { address, host: 'one' });
  one.fleet.start();
  const refused = { code: 'store_refused', message: /usage:a-bad/ };
  await t.rejects(one.fleet.catchUp(), refused);
  t.equal(used(one.ledger, 'alice'), 7);
  walk(one.ledger, 'bob/app', 9);
  await until(async () => ((await sharesOf(store, 'one')).length === 1 ? true : null));
  await t.rejects(one.fleet.catchUp(), refused, 'and it is said until it is mended');
  await tell(store, 'a-bad', [share('alice', 'a-bad', { bytes: { [repos]: 5 } })]);
  await one.fleet.catchUp();
  t.equal(used(one.ledger, 'alice'), 12);
});
