/** While a large SQLite file is read, the forge goes on writing, whatever its journal mode is. */

import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { folderWith } from '../config/written.ts';
import { writeSqlite } from './fixture.ts';
import { Readings, settingsFor } from './readings.ts';

const rows = process.env.SOFTQUOTA_LONG === '1' ? 300_000 : 100_000;
t.setTimeout(300_000);

const writer = fileURLToPath(new URL('writer.ts', import.meta.url));

for (const mode of ['DELETE', 'WAL'] as const) {
  t.test(
    `${mode}: no write is refused while ${rows} objects are read, and the forge never waits long`,
    async t => {
      const folder = folderWith(t, {});
      const file = join(folder, 'gitea.db');
      writeSqlite(file);
      const db = new DatabaseSync(file);
      db.exec(`PRAGMA journal_mode = ${mode}`);
      db.exec(`INSERT INTO lfs_meta_object (oid, size, repository_id) WITH RECURSIVE n(i) AS
      (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
      SELECT lower(hex(randomblob(32))), 1, (SELECT min(id) FROM repository WHERE owner_name = 'alice') FROM n`);
      db.close();

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
    },
  );
}

t.test('a file in WAL mode that no forge has open is read, and nothing is left beside it', async t => {
  const folder = folderWith(t, {});
  mkdirSync(join(folder, 'data'));
  const file = join(folder, 'data', 'gitea.db');
  writeSqlite(file);
  const db = new DatabaseSync(file);
  db.exec('PRAGMA journal_mode = WAL');
  db.close();
  const { mtimeMs } = statSync(file);
  const readings = new Readings(t, settingsFor(`sqlite:${file}`));
  await readings.read();
  t.equal(readings.bytesOf('alice')['size:git:lfs'], 127_982);
  t.strictSame(readdirSync(join(folder, 'data')), ['gitea.db']);
  t.equal(statSync(file).mtimeMs, mtimeMs);

  const forge = new DatabaseSync(file);
  forge.exec(
    "DELETE FROM lfs_meta_object WHERE repository_id IN (SELECT id FROM repository WHERE owner_name = 'alice')",
  );
  await t.rejects(readings.read(), /opened or replaced/, 'a forge that begins to write is noticed');
  await readings.read('anew');
  t.equal(readings.bytesOf('alice')['size:git:lfs'], undefined);
  forge.close();
});
