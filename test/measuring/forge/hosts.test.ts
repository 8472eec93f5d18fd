/** Several hosts that read one forge: what it stores counts once. */

import { join } from 'node:path';
import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { forgeSource } from '../../../src/ledger/index.ts';
import { ForgeSync } from '../../../src/measuring/index.ts';
import { createLogger } from '../../../src/service/index.ts';
import { until } from '../../e2e/ask.ts';
import { type Member, member, sharedStore } from '../../fleet/world.ts';
import { writeSqlite } from '../../forge/fixture.ts';
import { settingsFor } from '../../forge/readings.ts';
import { share } from '../../store/records.ts';
import { startSingle } from '../../store/redis-servers.ts';
import { tell } from '../../store/shared-place.ts';

const { log } = createLogger({ level: 'fatal', format: 'json' });

/** Sums what all owners have of the forge on this host. */
const bytesAt = ({ ledger }: Member): number =>
  [...ledger.documents.owners.all]
    .flatMap(owner => [...ledger.sources.usageOf(forgeSource, owner.name)])
    .reduce((sum, bytes) => sum + bytes, 0);

/** A host without storage, whose first sweep ends at once. */
async function reading(t: Test, host: string, address: string, database: string): Promise<Member> {
  const one = await member(t, { address, host, isLive: true, hasForge: true });
  const sync = new ForgeSync({
    settings: settingsFor(`sqlite:${database}`),
    pollMs: 50,
    ledger: one.ledger,
    log,
    fullLateMs: () => 1000,
    renamed: () => {},
    visibilityChanged: () => {},
    mayCount: () => one.fleet.countsForge,
  });
  t.teardown(() => sync.close());
  one.ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 0 }, [], () => true);
  one.fleet.start();
  sync.start();
  await sync.firstReading();
  return one;
}

t.test('the first host by name counts; the next one after it is forgotten, and one that comes', async t => {
  const { address } = await startSingle(t);
  const database = join(t.testdir(), 'gitea.db');
  writeSqlite(database);
  const middle = await reading(t, 'middle', address, database);
  const bytes = await until(async () => bytesAt(middle) || null);
  const last = await reading(t, 'zulu', address, database);
  await until(async () => last.fleet.countsForge === false || null);
  await until(async () => last.ledger.sources.report(forgeSource) ?? null);
  t.equal(bytesAt(last), 0);
  t.equal(bytesAt(middle), bytes);

  const first = await reading(t, 'alpha', address, database);
  await until(async () => (bytesAt(first) === bytes && bytesAt(middle) === 0) || null);
  t.equal(bytesAt(last), 0);

  await first.close();
  await middle.fleet.catchUp();
  t.equal(bytesAt(middle), 0, 'what a silent host told still counts');
  await until(() =>
    middle.fleet.forgetHost('alpha').then(
      () => true,
      () => null,
    ),
  );
  await until(async () => bytesAt(middle) === bytes || null);
  t.equal(bytesAt(last), 0);
});

t.test(
  'a host that cannot read the forge takes nothing from another; an emptied store changes nothing',
  async t => {
    const { address } = await startSingle(t);
    const redis = new Redis(address);
    t.teardown(() => redis.disconnect());
    const database = join(t.testdir(), 'gitea.db');
    writeSqlite(database);
    const last = await reading(t, 'zulu', address, database);
    const bytes = await until(async () => bytesAt(last) || null);
    const first = await reading(t, 'alpha', address, `${database}.none`);
    await until(async () => (await last.fleet.hosts()).some(({ host }) => host === 'alpha') || null);
    await last.fleet.catchUp();
    t.equal(last.fleet.countsForge, true);
    t.equal(bytesAt(last), bytes);

    writeSqlite(`${database}.none`);
    await until(async () => (bytesAt(first) === bytes && bytesAt(last) === 0) || null);
    await first.close();
    await redis.flushall();
    await until(
      async () =>
        (await last.fleet.hosts().catch(() => [])).some(({ host, isAlive }) => host === 'zulu' && isAlive) ||
        null,
    );
    t.equal(last.fleet.countsForge, false, 'figures of a host that the store has lost still count');
  },
);

t.test(
  'a host without storage that lost its own store keeps what it told until it has read the forge',
  async t => {
    const { address } = await startSingle(t);
    const store = await sharedStore(t, address);
    const database = join(t.testdir(), 'gitea.db');
    writeSqlite(database);
    const first = await reading(t, 'alpha', address, database);
    const bytes = await until(async () => bytesAt(first) || null);
    const last = await reading(t, 'zulu', address, database);
    const toldByFirst = async () => (await last.ledger.shares.storedByHost()).get('alpha')?.bytes;
    await until(async () => (await toldByFirst()) === bytes || null);
    await first.close();
    await tell(store, 'alpha', [share('gone', 'alpha', { bytes: { 'size:git:lfs': 7 } })]);
    const epoch = async () => (await store.state()).usage.get('alpha')?.split(' ')[0];
    const before = await epoch();

    const again = await reading(t, 'alpha', address, `${database}.late`);
    await until(async () => (await epoch()) !== before || null);
    await again.fleet.catchUp();
    await last.fleet.hosts();
    t.equal(last.fleet.countsForge, false, 'nobody else counts it meanwhile');
    await last.fleet.catchUp();
    t.equal(await toldByFirst(), bytes + 7);

    writeSqlite(`${database}.late`);
    await until(async () => bytesAt(again) === bytes || null);
    await until(async () => (await toldByFirst()) === bytes || null);
    t.equal(bytesAt(last), 0);
  },
);
