/** Usage that others told is read whole, whatever breaks off meanwhile. */

import t from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import { UsageReader } from '../../src/fleet/usage-reader.ts';
import { repos, used } from '../ledger/world.ts';
import { share } from '../store/records.ts';
import { startSingle } from '../store/redis-servers.ts';
import { tell } from '../store/shared-place.ts';
import { member, sharedStore } from './world.ts';

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
    reader.sync(new Map([['other', place]]), performance.now() + ms, false);
  await told('first 1', 60_000);
  t.equal(reader.isReading, false);
  await told('second 1', -1);
  t.equal(reader.isReading, true);
  await told('first 1', -1);
  t.equal(reader.isReading, false, 'else it would be looked for without a rest');
});
