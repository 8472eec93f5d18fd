/** Findings about a forge's database while no daemon tells of it. */

import { chmodSync, chownSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { checkForge, forgeReadFindings, serviceReadsAll } from '../../src/doctor/forge.ts';
import type { Installation } from '../../src/doctor/index.ts';
import { type RunSql, writeSqlite } from '../forge/fixture.ts';
import { settingsFor } from '../forge/readings.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { installationIn, reportOf, write } from './folder.ts';

interface World {
  readonly installation: Installation;
  readonly appIni: string;
  readonly database: string;
  readonly sql: RunSql;
}

/** `uid`: whom the daemon's data belong to. */
function world(t: Test, { uid = 0 } = {}): World {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o755);
  const database = join(folder, 'gitea.db');
  const sql = writeSqlite(database);
  const appIni = write(join(folder, 'gitea.ini'), `[database]\nDB_TYPE = sqlite3\nPATH = ${database}\n`);
  const data = write(join(folder, 'data/file'), '');
  chownSync(join(data, '..'), uid, uid);
  const text = `[server]\nDATA_PATH = data\n[forge]\nKIND = gitea\nCONFIG = ${appIni}\n`;
  return { installation: installationIn(folder, text), appIni, database, sql };
}

const look = (installation: Installation) => reportOf(report => checkForge(report, installation, false));

t.test('a database that answers, with all tables, is checked and well', async t => {
  const { installation } = world(t);
  t.match(await look(installation), {
    findings: [],
    checked: [/^the forge's database, SQLite 3.*, and its tables$/],
  });
  const told = await reportOf(report => checkForge(report, installation, true));
  t.match(told, { findings: [], checked: [], missed: [] }, 'a daemon tells it by itself');
});

t.test('files that the daemon’s user may not read are named, with the command for it', async t => {
  const { installation, appIni, database } = world(t, { uid: 4711 });
  chmodSync(appIni, 0o640);
  chownSync(appIni, 0, 4712);
  chmodSync(database, 0o600);
  const { findings } = await look(installation);
  t.match(findings, [
    {
      code: 'forge_away',
      message: `uid 4711 may not read ${appIni} (mode 0640), so the forge cannot be read`,
      mend: `setfacl -m u:4711:r ${appIni}`,
    },
    { code: 'forge_away', mend: `setfacl -m u:4711:r ${database}` },
  ]);
});

t.test('a user with a name is put into the group of the file', async t => {
  const { installation, appIni } = world(t, { uid: 65_534 });
  chmodSync(appIni, 0o600);
  chownSync(appIni, 0, 1);
  const { findings } = await look(installation);
  t.match(findings, [
    {
      code: 'forge_away',
      mend: `chmod g+r ${appIni} && usermod -a -G daemon nobody, then restart the daemon`,
    },
  ]);
});

t.test('a missing column, a missing file and a faulty configuration are named with a fix', async t => {
  const { installation, appIni, sql } = world(t);
  sql('ALTER TABLE attachment RENAME COLUMN size TO bytes');
  t.match((await look(installation)).findings, [
    {
      code: 'forge_away',
      severity: 'wrong',
      message: /attachment\.size is missing/,
      mend: /docs\/forges/,
    },
  ]);
  write(appIni, '[database]\nDB_TYPE = sqlite3\nPATH = /nonexistent/gitea.db\n');
  t.match((await look(installation)).findings, [{ code: 'forge_away', message: /\/nonexistent\/gitea\.db/ }]);
  write(appIni, '[database]\nDB_TYPE = mssql\n');
  t.match((await look(installation)).findings, [
    { code: 'forge_away', message: /DB_TYPE = mssql is none of/, mend: /\[forge\] CONFIG/ },
  ]);
});

t.test('with Gogs its own file has to be readable besides the database', async t => {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o755);
  const configFile = write(join(folder, 'gogs.ini'), '[attachment]\n');
  chmodSync(configFile, 0o600);
  const settings = settingsFor('postgres://a:b@db.example/gogs', { kind: 'gogs', configFile });
  const findings = await forgeReadFindings({ forge: settings, file: null }, { uid: 4711, gid: 4711 }, {});
  t.match(findings, [{ code: 'forge_away', message: new RegExp(`may not read ${configFile} `) }]);
  const gitea = { ...settings, kind: 'gitea' } as const;
  t.strictSame(await forgeReadFindings({ forge: gitea, file: null }, { uid: 4711, gid: 4711 }, {}), []);
});

t.test('a service that may read every file needs no rights of its own', async t => {
  const folder = temporaryFolder(t);
  const nobody = { uid: 65_534, gid: 65_534 };
  t.notOk(serviceReadsAll(nobody, [folder]), 'there is no unit');
  const shipped = await readFile(new URL('../../systemd/softquota.service', import.meta.url), 'utf8');
  const unit = write(join(folder, 'softquota.service'), shipped);
  t.notOk(serviceReadsAll(nobody, [folder]), 'it runs as somebody else');
  const own = shipped.replace(/^User=.*$/m, 'User=nobody');
  write(unit, own);
  t.ok(serviceReadsAll(nobody, ['/nonexistent', folder]));
  write(unit, own.replace(/^AmbientCapabilities=.*$/m, ''));
  t.notOk(serviceReadsAll(nobody, [folder]), 'it has no such right');
  write(unit, own);
  write(join(folder, 'softquota.service.d/other.conf'), '[Service]\nAmbientCapabilities=\n');
  t.notOk(serviceReadsAll(nobody, [folder]), 'a drop-in may take the right away');
});
