/** Rows that no forge writes: they stop nobody, and what they stand for is not free. */

import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { ForgeSettings } from '../../src/forge/index.ts';
import { folderWith } from '../config/written.ts';
import { must } from '../e2e/run.ts';
import { dataArchive, type Engine, engines, startServer, writeSqlite } from './fixture.ts';
import { openGitlab } from './gitlab-world.ts';
import { gogsRows, gogsTables } from './gogs-world.ts';
import { openMade } from './made.ts';
import { Readings, settingsFor } from './readings.ts';

t.setTimeout(300_000);

interface World {
  readonly data: string;
  readonly readings: Readings;
  readonly settings: ForgeSettings;
  sql(text: string): unknown;
}

async function open(t: Test, engine: Engine): Promise<World> {
  const folder = folderWith(t, { 'custom/conf/app.ini': '[database]\n' });
  await must('tar', ['-xzf', fileURLToPath(dataArchive), '-C', folder]);
  const configFile = join(folder, 'custom/conf/app.ini');
  const data = join(folder, 'data');
  if (engine !== 'sqlite') {
    const server = await startServer(t, engine);
    const settings = settingsFor(server.address('softquota', 'secret'), { configFile });
    return { data, settings, readings: new Readings(t, settings), sql: text => server.sql(text, 'gitea') };
  }
  const path = join(folder, 'gitea.db');
  const sql = writeSqlite(path);
  const settings = settingsFor(`sqlite:${path}`, { configFile });
  return { data, settings, readings: new Readings(t, settings), sql };
}

const largest = '9223372036854775807';
const lfs = 'size:git:lfs';
/** An object that only a repository of Bob-B has, and its size. */
const [oid, oidBytes] = ['34bd2e97', 18_065];

for (const engine of engines) {
  t.test(engine, async t => {
    const { data, settings, sql } = await open(t, engine);
    await t.test('a name that nobody can have keeps the last good one', async t => {
      const readings = new Readings(t, settings);
      await readings.read();
      const before = readings.bytesOf('alice');
      const quoted = engine === 'mysql' ? '`user`' : '"user"';
      const long = { sqlite: 'hex(zeroblob(25000000))', postgres: "repeat('x', 50000000)", mysql: "''" }[
        engine
      ];
      const bell = engine === 'postgres' ? "'a' || chr(7)" : "'a\u0007'";
      if (engine === 'postgres') {
        await sql('DROP INDEX IF EXISTS "UQE_user_name"; ALTER TABLE "user" ALTER name TYPE TEXT');
      }
      for (const name of [long, bell]) {
        await sql(`UPDATE ${quoted} SET name = ${name} WHERE lower_name = 'alice'`);
        const { odd } = await readings.read('full');
        t.strictSame(readings.bytesOf('alice'), before);
        t.match(odd?.first, [
          { row: /^user \d+$/, owner: 'alice', why: /name cannot be taken/, isCounted: true },
        ]);
      }
      const other = new Readings(t, settings);
      await other.read();
      t.strictSame(other.bytesOf('alice'), {}, 'a reader that never knew her counts her bytes for nobody');
      t.ok(other.lines.length > 0);
      await sql(`UPDATE ${quoted} SET name = 'alice' WHERE lower_name = 'alice'`);
    });

    await t.test('an odd size counts as it last did, or for nobody, and all others as usual', async t => {
      const readings = new Readings(t, settings);
      const set = (size: string) => sql(`UPDATE lfs_meta_object SET size = ${size} WHERE oid LIKE '${oid}%'`);
      await set('-5');
      const first = await readings.read();
      const without = readings.bytesOf('Bob-B')[lfs] ?? 0;
      t.ok((readings.bytesOf('alice')[lfs] ?? 0) > 0, 'all others are read');
      const [row] = first.odd?.first ?? [];
      t.match(row, { owner: 'Bob-B', why: 'its size is -5', isCounted: false });
      t.match(row?.row, /^lfs_meta_object \d+$/);
      t.match(row?.path, new RegExp(`^${data}/lfs/34/bd/2e97`));
      t.equal(statSync(row?.path ?? '').size, oidBytes);
      t.match(
        first.unowned?.find(({ reason }) => reason === 'odd_rows'),
        { count: 1, bytes: oidBytes },
      );

      await set(String(oidBytes));
      const good = await readings.read('full');
      t.equal(readings.bytesOf('Bob-B')[lfs], without + oidBytes);
      t.equal(good.odd?.count, 0);
      for (const size of [largest, '-1', '9007199254740991']) {
        await set(size);
        const { odd, unowned } = await readings.read('anew');
        t.equal(readings.bytesOf('Bob-B')[lfs], without + oidBytes, `${size}: its last good size counts`);
        t.match(odd?.first, [{ why: `its size is ${size}`, isCounted: true }]);
        t.notOk(unowned?.some(({ reason }) => reason === 'odd_rows'));
      }

      await sql(`UPDATE lfs_meta_object SET size = ${largest}; UPDATE attachment SET size = -1;
      UPDATE package_blob SET size = ${largest}; UPDATE action_artifact SET file_compressed_size = -7`);
      const all = await readings.read('full');
      t.equal(readings.bytesOf('Bob-B')[lfs], without + oidBytes);
      const tables = new Set(all.odd?.first.map(each => each.row.split(' ', 1).join()));
      const wanted = ['action_artifact', 'attachment', 'lfs_meta_object', 'package_blob'];
      t.strictSame([...tables].sort(), wanted);
      const files = all.odd?.first.flatMap(({ path }) => path ?? []) ?? [];
      t.ok(
        files.filter(path => path.startsWith(`${data}/`) && existsSync(path)).length > 15,
        'with their files',
      );
    });
  });
}

t.test('an odd row is told without its file if app.ini does not tell where the file is', async t => {
  const { readings, settings, sql } = await open(t, 'sqlite');
  await sql(`UPDATE lfs_meta_object SET size = -5 WHERE oid LIKE '${oid}%'`);
  const file = settings.configFile ?? '';
  const told = { count: 1, first: [{ owner: 'Bob-B', why: 'its size is -5', path: null }] };
  writeFileSync(file, '[lfs]\nPATH = %(APP_DATA_PATH)s/lfs\n');
  t.match((await readings.read()).odd, told, 'a template');
  t.ok((readings.bytesOf('alice')[lfs] ?? 0) > 0, 'all others are read');
  rmSync(file);
  t.match((await readings.read('full')).odd, told, 'no file');
});

t.test('a Gogs and a GitLab are read with odd rows as well', async t => {
  const gogs = await openMade(t, 'sqlite', gogsTables, { ...gogsRows, attachment: [] });
  const configFile = join(folderWith(t, { 'custom/conf/app.ini': '' }), 'custom/conf/app.ini');
  const readings = new Readings(t, settingsFor(gogs.address, { kind: 'gogs', configFile }));
  await readings.read();
  const before = readings.bytesOf('Alice');
  await gogs.sql(`UPDATE lfs_object SET size = ${largest} WHERE repo_id <= 2`);
  t.match((await readings.read('full')).odd, { count: 3, first: [{ owner: 'Alice', isCounted: true }] });
  t.strictSame(readings.bytesOf('Alice'), before);

  const gitlab = await openGitlab(t, { artifacts: 'whole' });
  const gitlabReadings = new Readings(t, settingsFor(gitlab.address, { kind: 'gitlab' }));
  await gitlabReadings.read();
  const lines = gitlabReadings.lines;
  await gitlab.sql(`UPDATE lfs_objects SET size = -1; UPDATE uploads SET size = ${largest};
    UPDATE ci_job_artifacts SET size = -1; UPDATE packages_package_files SET size = -2`);
  t.ok(((await gitlabReadings.read('full')).odd?.count ?? 0) > 3);
  t.strictSame(gitlabReadings.lines, lines);
});

t.test('of two owners with one name the first one has it, and all others are read', async t => {
  const { address, sql } = await openGitlab(t);
  const readings = new Readings(t, settingsFor(address, { kind: 'gitlab' }));
  await readings.read();
  const lines = readings.lines.filter(({ owner }) => owner !== 'bob');
  await sql(`INSERT INTO namespaces (id, path, type) VALUES (20, 'Team', 'Group');
    UPDATE projects SET namespace_id = 20 WHERE id = 5; UPDATE uploads SET model_id = 20 WHERE size = 220`);
  const { odd, unowned } = await readings.read('full');
  t.match(odd, { count: 1, first: [{ row: 'user 20', why: /another/, owner: 'Team', isCounted: false }] });
  t.match(
    unowned?.find(({ reason }) => reason === 'owner_missing'),
    { bytes: 220 },
  );
  const others = lines.map(each =>
    each.owner === 'team' && each.subject === 'size:assets:attachments:issues'
      ? { ...each, bytes: each.bytes - 220 }
      : each,
  );
  t.strictSame(
    readings.lines.filter(({ owner }) => owner !== 'bob'),
    others,
  );
});

t.test('of thousands of odd rows a thousand are named, and all are counted', async t => {
  const { readings, sql } = await open(t, 'sqlite');
  await sql(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
    INSERT INTO lfs_meta_object (oid, size, repository_id) SELECT printf('%064x', i), -i, 1 FROM n`);
  const { odd, unowned } = await readings.read();
  t.equal(odd?.count, 3000);
  t.equal(odd?.first.length, 1000);
  t.match(
    unowned?.find(({ reason }) => reason === 'odd_rows'),
    { count: 3000, bytes: 0 },
  );
});
