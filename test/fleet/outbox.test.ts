/** Usage that a host writes of its owners into the shared store. */

import { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import { Outbox, type OutboxOptions } from '../../src/fleet/outbox.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { createRule } from '../../src/policy/index.ts';
import type { RecordChanges, SharedStore } from '../../src/store/index.ts';
import { until } from '../e2e/ask.ts';
import { lfs, repos, walk } from '../ledger/world.ts';
import { startSingle } from '../store/redis-servers.ts';
import { ledgerOf, sharedStore } from './world.ts';

t.setTimeout(120_000);

interface Opened extends Pick<OutboxOptions, 'store'> {
  readonly ledger: OutboxOptions['ledger'] & Pick<Ledger, 'replica'>;
  readonly host?: string;
}

function outboxOf(t: Test, { host = 'one', ...options }: Opened): Outbox {
  const outbox = new Outbox({
    ...options,
    host,
    tell: message => {
      if (message.is === 'owners met') options.ledger.replica.addOwners(message.owners);
    },
    pauseMs: 1,
  });
  t.teardown(() => outbox.close());
  return outbox;
}

/** The store, and what is written there. */
function written(store: SharedStore, during: (writes: number) => void = () => {}) {
  const writes: RecordChanges[] = [];
  const write = async (changes: RecordChanges) => {
    writes.push(changes);
    await store.write(changes);
    during(writes.length);
  };
  return { writes, store: { enroll: store.enroll.bind(store), write } };
}

const keysIn = ({ shares = [] }: RecordChanges = {}) => shares.map(({ ownerKey }) => ownerKey);

t.test('what sources put is told as what is reported one by one', async t => {
  const { address } = await startSingle(t);
  const shared = await sharedStore(t, address);
  const { store, writes } = written(shared);
  const ledger = await ledgerOf(t, 'one');
  walk(ledger, 'alice/app', 100);
  const outbox = outboxOf(t, { ledger, store });
  outbox.start();
  await outbox.settled();
  const put = (units: readonly object[]) => {
    const body = units.map(unit => `${JSON.stringify({ owner: 'alice', subject: lfs, ...unit })}\n`).join('');
    return ledger.sources.put('s', 1000, Readable.from([Buffer.from(body)]));
  };
  await put([
    { unit: 'small', bytes: 1 },
    { unit: 'large', bytes: 1000 },
  ]);
  await outbox.settled();
  t.match(await shared.sharesOf(['alice']), [
    {
      bytes: { [repos]: 100, [lfs]: 1001 },
      units: 3,
      largest: [
        { kind: 'reported', name: 'large', leaf: lfs, bytes: 1000 },
        { bytes: 100 },
        { name: 'small' },
      ],
    },
  ]);
  const before = writes.length;
  await put([
    { unit: 'small', bytes: 1 },
    { unit: 'large', bytes: 1000 },
  ]);
  await outbox.settled();
  t.equal(writes.length, before, 'the same set again is nothing new');
  await ledger.sources.remove('s');
  await outbox.settled();
  t.match(await shared.sharesOf(['alice']), [{ bytes: { [repos]: 100 }, units: 1, largest: { length: 1 } }]);
});

t.test('a change of usage is told by itself, and only once while nothing changes', async t => {
  const { address } = await startSingle(t);
  const shared = await sharedStore(t, address);
  const { store, writes } = written(shared);
  const ledger = await ledgerOf(t, 'one');
  walk(ledger, 'alice/app', 100);
  const outbox = outboxOf(t, { ledger, store });
  outbox.start();
  await outbox.settled();
  t.match(await shared.sharesOf(['alice']), [
    { ownerKey: 'alice', host: 'one', bytes: { [repos]: 100 }, units: 1 },
  ]);
  t.match((await shared.load()).owners, [{ key: 'alice', id: ledger.documents.owners.named('alice')?.id }]);

  walk(ledger, 'alice/app', 100);
  await ledger.documents.transact(({ changes }) =>
    createRule(changes, { name: 'none', limitBytes: 0, subjects: ['size:all'] }),
  );
  await outbox.settled();
  t.equal(writes.length, 1, 'neither a walk that finds the same nor a rule is told');

  walk(ledger, 'alice/app', 300);
  await until(async () => ((await shared.sharesOf(['alice']))[0]?.bytes[repos] === 300 ? true : null));
  t.equal(writes.length, 2);

  ledger.walks.recordGone('/srv/git/alice/app.git', ledger.walks.nextSeq());
  await outbox.settled();
  t.strictSame(await shared.sharesOf(['alice']), [], 'and what is gone is gone there, too');
});

t.test('everything is told again when the store may have lost it', async t => {
  const { address, servers } = await startSingle(t);
  const shared = await sharedStore(t, address);
  const { store, writes } = written(shared);
  const ledger = await ledgerOf(t, 'one');
  for (const owner of ['alice', 'bob', 'carol']) walk(ledger, `${owner}/app`, 100);
  const outbox = outboxOf(t, { ledger, store });
  outbox.start();
  await outbox.settled();
  await servers[0].cli('flushall');
  outbox.enrollEverybody();
  // An owner that goes meanwhile may be in there still.
  ledger.walks.recordGone('/srv/git/carol/app.git', ledger.walks.nextSeq());
  await outbox.settled();
  const { owners, shares } = await shared.load();
  t.strictSame(owners.map(({ key }) => key).sort(), ['alice', 'bob', 'carol']);
  t.strictSame(shares.map(({ ownerKey }) => ownerKey).sort(), ['alice', 'bob']);
  t.match(writes.at(-1)?.goneShares, [{ ownerKey: 'carol', host: 'one' }]);
});

t.test('who starts anew tells what differs from what the store has, and nothing else', async t => {
  const { address } = await startSingle(t);
  const shared = await sharedStore(t, address);
  const ledger = await ledgerOf(t, 'one');
  for (const owner of ['alice', 'bob', 'carol']) walk(ledger, `${owner}/app`, 100);
  const before = outboxOf(t, { ledger, store: shared });
  before.start();
  await before.close();
  walk(ledger, 'bob/app', 300);
  ledger.walks.recordGone('/srv/git/carol/app.git', ledger.walks.nextSeq());
  const { store, writes } = written(shared);
  const after = outboxOf(t, { ledger, store });
  after.reconcile((await shared.load()).shares);
  after.start();
  await after.settled();
  t.strictSame(writes.flatMap(keysIn), ['bob']);
  t.strictSame((await shared.load()).shares.map(({ ownerKey, bytes }) => [ownerKey, bytes[repos]]).sort(), [
    ['alice', 100],
    ['bob', 300],
  ]);
});

t.test('what is told while it is read what the store has is not taken back', async t => {
  const { address } = await startSingle(t);
  const shared = await sharedStore(t, address);
  const ledger = await ledgerOf(t, 'one');
  const outbox = outboxOf(t, { ledger, store: shared });
  walk(ledger, 'alice/app', 100);
  outbox.start();
  await outbox.settled();
  outbox.beginReconcile();
  const seen = (await shared.load()).shares;
  walk(ledger, 'alice/app', 300);
  await outbox.settled();
  // The share is as it was at the look, so that only the store's differs.
  walk(ledger, 'alice/app', 100);
  outbox.reconcile(seen);
  await outbox.settled();
  t.match(await shared.sharesOf(['alice']), [{ bytes: { [repos]: 100 } }]);
});

t.test('what was perhaps written is not taken for told', async t => {
  const { address } = await startSingle(t);
  const shared = await sharedStore(t, address);
  const { store } = written(shared, writes => {
    if (writes === 2) throw new Error('the connection broke before the answer came');
  });
  const ledger = await ledgerOf(t, 'one');
  walk(ledger, 'alice/app', 100);
  const outbox = outboxOf(t, { ledger, store });
  outbox.start();
  await outbox.settled();
  walk(ledger, 'alice/app', 300);
  await outbox.settled();
  walk(ledger, 'alice/app', 100);
  await outbox.settled();
  t.match(await shared.sharesOf(['alice']), [{ bytes: { [repos]: 100 } }]);
});

t.test('owners whom two hosts meet at once get one id', async t => {
  const { address } = await startSingle(t);
  const fleetHosts = await Promise.all(
    ['one', 'two'].map(async host => {
      const ledger = await ledgerOf(t, host);
      for (let owner = 0; owner < 300; owner++) walk(ledger, `owner-${owner}/app`, 100);
      return { ledger, outbox: outboxOf(t, { ledger, store: await sharedStore(t, address), host }) };
    }),
  );
  for (const { outbox } of fleetHosts) outbox.start();
  await Promise.all(fleetHosts.map(({ outbox }) => outbox.settled()));
  const { owners, shares } = await (await sharedStore(t, address)).load();
  t.equal(owners.length, 300);
  t.equal(shares.length, 600);
  for (const { ledger } of fleetHosts) {
    t.equal(
      owners.filter(
        ({ id, name }) =>
          ledger.documents.owners.named(name)?.id === id && ledger.documents.owners.byId(id) !== undefined,
      ).length,
      300,
    );
  }
});

t.test('of many owners all are told, and who has just changed before those who wait', async t => {
  const { address } = await startSingle(t);
  const shared = await sharedStore(t, address);
  const ledger = await ledgerOf(t, 'one');
  const { store, writes } = written(shared, count => {
    if (count === 1) walk(ledger, 'late/app', 7);
  });
  for (let owner = 0; owner < 3000; owner++) walk(ledger, `owner-${owner}/app`, 100 + owner);
  const outbox = outboxOf(t, { ledger, store });
  outbox.start();
  await outbox.settled();
  const { shares } = await shared.load();
  t.equal(shares.length, 3001);
  t.equal(
    shares.reduce((sum, { bytes }) => sum + (bytes[repos] ?? 0), 0),
    3000 * 100 + (3000 * 2999) / 2 + 7,
  );
  t.ok(keysIn(writes[1]).includes('late'), 'in the very next write');
  t.equal(writes.flatMap(keysIn).length, 3001, 'nobody twice');
});
