/** Full readings of the forge begin when they are due. */

import { join } from 'node:path';
import t from 'tap';
import { identityKinds } from '../../../src/identity/index.ts';
import { forgeSource, Ledger } from '../../../src/ledger/index.ts';
import { ForgeSync, forgeLinkKinds } from '../../../src/measuring/index.ts';
import { createLogger } from '../../../src/service/index.ts';
import { openStore } from '../../../src/store/index.ts';
import { until } from '../../e2e/ask.ts';
import { writeSqlite } from '../../forge/fixture.ts';
import { settingsFor } from '../../forge/readings.ts';
import { directoryFor, settings, silentLog } from '../../ledger/world.ts';

t.test('a full reading has everything reported again', async t => {
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
  writeSqlite(database);
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
  const reportedAt = () => ledger.sources.report(forgeSource)?.reportedAt ?? 0;
  const before = reportedAt();
  sync.readAll();
  await until(async () => reportedAt() > before || null);
  t.pass('everything is read again');
});
