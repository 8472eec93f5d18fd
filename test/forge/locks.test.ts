/** While a large SQLite file is read, the forge goes on writing, whatever its journal mode is. */

import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { ForgeDatabase } from '../../src/forge/database.ts';
import { schemaOf } from '../../src/forge/open.ts';
import { ForgeReading } from '../../src/forge/reading.ts';
import { openSqlite } from '../../src/forge/sqlite.ts';
import { folderWith } from '../config/written.ts';
import { isLong } from '../run-length.ts';
import { writeSqlite } from './fixture.ts';
import { Readings, settingsFor } from './readings.ts';

const rows = isLong ? 300_000 : 100_000;
t.setTimeout(300_000);

const writer = fileURLToPath(new URL('writer.ts', import.meta.url));

const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})`;
const alices = "(SELECT min(id) FROM repository WHERE owner_name = 'alice')";
/** Makes LFS objects of Alice. */
const objects = `INSERT INTO lfs_meta_object (oid, size, repository_id) ${numbers}
  SELECT lower(hex(randomblob(32))), 1, ${alices} FROM n`;

for (const mode of ['DELETE', 'WAL'] as const) {
  t.test(`${mode}: no write is refused or waits long while ${rows} objects are read`, async t => {
    const folder = folderWith(t, {});
    const file = join(folder, 'gitea.db');
    const sql = writeSqlite(file);
    sql(`PRAGMA journal_mode = ${mode}`);
    sql(objects);

    const child = spawn(process.execPath, [writer, file], { stdio: ['pipe', 'pipe', 'inherit'] });
    t.teardown(() => child.kill());
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    t.equal((await lines.next()).value, 'begun');
    const readings = new Readings(t, settingsFor(`sqlite:${file}`));
    await readings.read();
    t.equal(readings.bytesOf('alice')['size:git:lfs'], 127_982 + rows);
    child.stdin.end();
    const { writes, refused, longestMs } = JSON.parse((await lines.next()).value ?? '');
    t.comment(`${writes} writes, the longest in ${longestMs.toFixed(1)} ms`);
    t.ok(writes > 1);
    t.equal(refused, 0, 'no write is refused');
  });
}

/** Notes for how long each statement keeps its lock, in milliseconds of this thread's CPU. */
function timed(db: ForgeDatabase, heldMs: number[]): ForgeDatabase {
  return new Proxy(db, {
    get: (_, name) => {
      const found: unknown = Reflect.get(db, name, db);
      if (typeof found !== 'function') return found;
      return (...args: readonly unknown[]) => {
        const begun = process.threadCpuUsage();
        // The statement is at its end when this returns, before its promise is waited for.
        const result: unknown = found.apply(db, args);
        const { user, system } = process.threadCpuUsage(begun);
        heldMs.push((user + system) / 1000);
        return result;
      };
    },
  });
}

t.test('with a DELETE journal no statement keeps its lock for long, however large a table is', async t => {
  const file = join(folderWith(t, {}), 'gitea.db');
  writeSqlite(file);
  const db = new DatabaseSync(file);
  db.exec('PRAGMA journal_mode = DELETE');
  db.exec(objects);
  db.exec(`INSERT INTO package_blob (size, hash_md5, hash_sha1, hash_sha256, hash_sha512, created_unix) ${numbers}
    SELECT 1, hex(randomblob(16)), hex(randomblob(20)), hex(randomblob(32)), hex(randomblob(64)), 1 FROM n`);
  db.exec(`INSERT INTO user (lower_name, name, email, passwd, type, max_repo_creation, avatar, avatar_email) ${numbers}
    SELECT 'made' || i, 'Made' || i, 'made' || i || '@example.org', 'x', 0, -1, '', '' FROM n WHERE i <= ${rows / 5}`);
  const begun = process.threadCpuUsage();
  db.prepare('SELECT * FROM lfs_meta_object').all();
  const used = process.threadCpuUsage(begun);
  const whole = (used.user + used.system) / 1000;
  db.close();
  const heldMs: number[] = [];
  const opened = openSqlite(file);
  t.teardown(() => opened.close());
  const schema = schemaOf(settingsFor(`sqlite:${file}`), {});
  const reading = new ForgeReading(schema, 'seed');
  await reading.read(timed(opened, heldMs), true);
  t.ok(reading.owners.size > rows / 5, `${reading.owners.size} owners`);
  const longest = Math.max(...heldMs);
  t.comment(`${heldMs.length} statements, the longest ${longest.toFixed(1)} ms of ${whole.toFixed(1)}`);
  t.ok(heldMs.length > rows / 20_000, 'tables are read in many statements');
  t.ok(longest < whole / 3, `${longest} ms, and ${whole} for one table in one statement`);
});

t.test('a file in WAL mode that no forge has open is read, and nothing is left beside it', async t => {
  const folder = folderWith(t, {});
  mkdirSync(join(folder, 'data'));
  const file = join(folder, 'data', 'gitea.db');
  const sql = writeSqlite(file);
  sql('PRAGMA journal_mode = WAL');
  const { mtimeMs } = statSync(file);
  const readings = new Readings(t, settingsFor(`sqlite:${file}`));
  await readings.read();
  t.equal(readings.bytesOf('alice')['size:git:lfs'], 127_982);
  t.strictSame(readdirSync(join(folder, 'data')), ['gitea.db']);
  t.equal(statSync(file).mtimeMs, mtimeMs);

  sql('UPDATE lfs_meta_object SET size = size + 1 WHERE id = 1');
  t.strictSame(readdirSync(join(folder, 'data')), ['gitea.db'], 'a command of the forge has come and gone');
  await t.rejects(readings.read(), /opened or replaced/);
  await readings.read('anew');
  t.equal(readings.bytesOf('alice')['size:git:lfs'], 127_983);

  const forge = new DatabaseSync(file);
  forge.exec(
    "DELETE FROM lfs_meta_object WHERE repository_id IN (SELECT id FROM repository WHERE owner_name = 'alice')",
  );
  await t.rejects(readings.read(), /opened or replaced/, 'a forge that begins to write is noticed');
  await readings.read('anew');
  t.equal(readings.bytesOf('alice')['size:git:lfs'], undefined);
  forge.close();
});
