/** Readings of the forge: when they are full, and whom they cannot take over. */

import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createUser, identityKinds } from '../../../src/identity/index.ts';
import { forgeSource, Ledger } from '../../../src/ledger/index.ts';
import { ForgeSync, forgeLinkKinds } from '../../../src/measuring/index.ts';
import { createLogger } from '../../../src/service/index.ts';
import { openStore } from '../../../src/store/index.ts';
import { until } from '../../e2e/ask.ts';
import { writeSqlite } from '../../forge/fixture.ts';
import { settingsFor } from '../../forge/readings.ts';
import { directoryFor, settings, silentLog } from '../../ledger/world.ts';

async function open(t: Test) {
  const directory = directoryFor(t);
  const store = await openStore({ file: join(directory, 'softquota.db') });
  const ledger = await Ledger.open({
    store,
    unitSources: store.unitSources,
    host: 'here',
    settings,
    kinds: [...identityKinds, ...forgeLinkKinds],
    foldCase: true,
    log: silentLog,
  });
  const database = join(directory, 'gitea.db');
  const write = writeSqlite(database);
  const { log } = createLogger({ level: 'fatal', format: 'json' });
  const sync = new ForgeSync({
    settings: settingsFor(`sqlite:${database}`),
    pollMs: 5,
    ledger,
    log,
    fullLateMs: () => 1000,
    renamed: () => {},
    visibilityChanged: () => {},
    mayCount: () => true,
  });
  t.teardown(async () => {
    await sync.close();
    await ledger.close();
  });
  sync.start();
  await sync.firstReading();
  t.equal(sync.observed().fault, null);
  return { ledger, sync, write };
}

t.test('a full reading has everything reported again', async t => {
  const { ledger, sync } = await open(t);
  const reportedAt = () => ledger.sources.report(forgeSource)?.reportedAt ?? 0;
  const before = reportedAt();
  sync.readAll();
  await until(async () => reportedAt() > before || null);
  t.pass('everything is read again');
});

t.test('an owner of the forge is refused until another name is free, or the owner is gone', async t => {
  const { ledger, sync, write } = await open(t);
  await ledger.documents.transact(transaction => createUser(transaction, { name: 'walter' }));
  const rename = (name: string) =>
    write(`UPDATE user SET name = '${name}', lower_name = '${name}' WHERE id = (SELECT MAX(id) FROM user)`);
  const refused = () => sync.observed().refused.map(({ name }) => name);
  rename('walter');
  await until(async () => refused()[0] === 'walter' || null);
  rename('wanda');
  await until(async () => refused().length === 0 || null);
  rename('walter');
  await until(async () => refused()[0] === 'walter' || null);
  write("DELETE FROM user WHERE name = 'walter'");
  await until(async () => refused().length === 0 || null);
  t.equal(sync.observed().fault, null);
});
