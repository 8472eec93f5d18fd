/** Full readings of the forge begin when the configuration says so, also after it was reloaded. */

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

t.test('a schedule that is reloaded is the forge’s from then on', async t => {
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
  const running = new Map<string, () => void>();
  const begun: string[] = [];
  const { log } = createLogger({ level: 'fatal', format: 'json' });
  const sync = new ForgeSync({
    settings: settingsFor(`sqlite:${database}`),
    pollMs: 5,
    ledger,
    log,
    sweeps: '0 0 * * *',
    schedule: (sweeps, tick) => {
      begun.push(sweeps);
      running.set(sweeps, tick);
      return { close: () => void running.delete(sweeps), interval: () => 1000 };
    },
    renamed: () => {},
    visibilityChanged: () => {},
    mayCount: () => true,
  });
  t.teardown(async () => {
    await sync.close();
    await ledger.close();
  });
  sync.reconfigure('0 1 * * *');
  t.strictSame(begun, [], 'nothing begins before it is started');
  sync.start();
  await sync.firstReading();
  sync.reconfigure('0 1 * * *');
  t.strictSame(begun, ['0 1 * * *'], 'one that stays is not begun anew');
  sync.reconfigure('0 2 * * *');
  t.strictSame([...running.keys()], ['0 2 * * *']);

  t.equal(sync.observed().fault, null);
  const reportedAt = () => ledger.sources.report(forgeSource)?.reportedAt ?? 0;
  const before = reportedAt();
  for (const tick of running.values()) tick();
  await until(async () => reportedAt() > before || null);
  t.pass('its ticks have everything read again');
  await sync.close();
  t.equal(running.size, 0);
});
