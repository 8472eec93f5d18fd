/** Faults of a forge's database: it is restarted, hangs, refuses the password, and lacks tables. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ForgeFault, ForgeReader } from '../../src/forge/index.ts';
import { openForgeDatabase, schemaOf } from '../../src/forge/open.ts';
import { folderWith } from '../config/written.ts';
import { until } from '../e2e/ask.ts';
import { ownTime } from '../own-time.ts';
import { grants, startServer } from './fixture.ts';
import { Readings, settingsFor } from './readings.ts';

t.setTimeout(300_000);

const engines = ['postgres', 'mysql'] as const;

/** The fault of a reading that has to fail. */
async function faultOf(readings: Readings): Promise<ForgeFault> {
  try {
    await readings.read();
  } catch (error) {
    if (error instanceof ForgeFault) return error;
    throw error;
  }
  throw new Error('the reading did not fail');
}

for (const engine of engines) {
  t.test(`${engine}: a server that is restarted, or changes the password, is read again`, async t => {
    const server = await startServer(t, engine);
    const folder = folderWith(t, {});
    const ini = join(folder, 'app.ini');
    const writeIni = (password: string) => writeFileSync(ini, appIni(engine, server.host, password));
    writeIni('secret');
    const settings = { ...settingsFor(''), database: null, configFile: ini };
    const readings = new Readings(t, settings);
    await readings.read();
    const before = readings.lines;

    await server.stop();
    t.equal((await faultOf(readings)).code, 'unreachable');
    await server.start();
    await readings.read('anew');
    t.strictSame(readings.lines, before, 'it is read again, as it was');

    await server.sql(
      engine === 'postgres'
        ? "ALTER ROLE softquota PASSWORD 'other'"
        : "ALTER USER softquota@'%' IDENTIFIED BY 'other'",
    );
    await server.stop();
    await server.start();
    await faultOf(readings).catch(() => {});
    const refused = await faultOf(readings);
    t.equal(refused.code, 'rights', refused.message);
    t.notMatch(refused.mend, /GRANT/, 'a right is not what is missing');
    t.notMatch(refused.message, /secret|other/);
    writeIni('other');
    await readings.read('anew');
    t.strictSame(readings.lines, before, 'the new password is found in app.ini');
  });

  t.test(`${engine}: what is missing or may not be read is named, and no figures are told`, async t => {
    const server = await startServer(t, engine);
    const readings = new Readings(t, settingsFor(server.address('softquota', 'secret')));
    await server.sql('ALTER TABLE package_blob RENAME COLUMN size TO bytes', 'gitea');
    await server.sql('ALTER TABLE attachment RENAME TO attachments', 'gitea');
    const missing = await faultOf(readings);
    t.equal(missing.code, 'schema');
    t.match(missing.message, 'the table attachment, package_blob.size are missing');
    await server.sql('ALTER TABLE package_blob RENAME COLUMN bytes TO size', 'gitea');
    await server.sql('ALTER TABLE attachments RENAME TO attachment', 'gitea');
    await readings.read();
    t.ok(readings.lines.length > 0);

    await server.sql(
      engine === 'postgres'
        ? 'REVOKE SELECT ON "package" FROM softquota'
        : "REVOKE SELECT ON gitea.* FROM softquota@'%'",
      'gitea',
    );
    // A connection that is there may keep its rights.
    const unread = await faultOf(new Readings(t, settingsFor(server.address('softquota', 'secret'))));
    t.match(unread.mend, /GRANT SELECT ON/, 'who may not read is told the statement');
    await server.sql(`${grants[engine][1]};`, 'gitea');

    await server.sql('DROP TABLE team_user', 'gitea');
    await server.sql('DELETE FROM lfs_meta_object WHERE id = 1', 'gitea');
    const gone = await until(() =>
      readings.read().then(
        () => null,
        error => String(error),
      ),
    );
    t.match(gone, /ForgeFault.*team_user/);
    t.equal((await faultOf(readings)).code, 'schema');
  });

  t.test(`${engine}: a server that is stopped is told within five seconds, and read again`, async t => {
    const server = await startServer(t, engine);
    const settings = settingsFor(server.address('softquota', 'secret'));
    const readings = new Readings(t, settings);
    await readings.read();
    await server.halt();
    const passed = ownTime();
    t.equal((await faultOf(readings)).code, 'unreachable');
    const ms = passed();
    // Two seconds pass between two readings.
    t.ok(ms < 3000, `after ${ms} ms`);
    server.go();
    await readings.read('anew');

    await t.test('also where it stops between two statements', async t => {
      const db = await openForgeDatabase(settings, schemaOf(settings, {}), {});
      t.teardown(() => db.close());
      let passed = () => 0;
      const reading = db.consistently(async () => {
        await server.halt();
        passed = ownTime();
      });
      await t.rejects(reading, { name: 'ForgeFault', code: 'unreachable' });
      const ms = passed();
      t.ok(ms < 3000, `after ${ms} ms`);
      server.go();
    });

    await t.test('and in the midst of a reading it does not keep the reader from closing', async t => {
      const reader = new ForgeReader(settings);
      await reader.read('new').next();
      await server.halt();
      const rejected = t.rejects(reader.read('anew').next(), { name: 'ForgeFault' });
      await reader.close();
      await rejected;
      server.go();
    });
  });
}

t.test('a SQLite file that is not there is named', async t => {
  const settings = settingsFor('sqlite:/nowhere/gitea.db');
  t.match((await faultOf(new Readings(t, settings))).message, '/nowhere/gitea.db');
});

function appIni(engine: (typeof engines)[number], host: string, password: string): string {
  return `[database]
DB_TYPE = ${engine}
HOST = ${host}
NAME = gitea
USER = softquota
PASSWD = \`${password}\`
SSL_MODE = disable
`;
}
