/** Files that are no sound store: each is refused, and keeps every byte. */

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t from 'tap';
import { begin, fingerprint, sample } from './samples.ts';

function sql(file: string, statements: string): void {
  const db = new DatabaseSync(file);
  db.exec(statements);
  db.close();
}

function overwrite(file: string, position: number, bytes: Uint8Array): void {
  const handle = fs.openSync(file, 'r+');
  fs.writeSync(handle, bytes, 0, bytes.length, position);
  fs.closeSync(handle);
}

const noise = Buffer.alloc(4096, 0xa5);

const damages: Readonly<Record<string, (file: string) => void>> = {
  'is empty': file => fs.truncateSync(file, 0),
  'ends within its header': file => fs.truncateSync(file, 60),
  'ends within its first page': file => fs.truncateSync(file, 2000),
  'has lost its second half': file => fs.truncateSync(file, Math.floor(fs.statSync(file).size / 2)),
  'is something else altogether': file => fs.writeFileSync(file, 'a shopping list\n'.repeat(1000)),
  'has an overwritten header': file => overwrite(file, 0, noise.subarray(0, 100)),
  'has an overwritten schema': file => overwrite(file, 100, noise.subarray(0, 3996)),
  'has an overwritten page': file => overwrite(file, 9 * 4096, noise),
  'has an overwritten part of a page': file => overwrite(file, 9 * 4096, noise.subarray(0, 16)),
};

for (const left of ['closed', 'killed'] as const) {
  for (const [damage, inflict] of Object.entries(damages)) {
    t.test(`a file of a ${left} daemon that ${damage} is refused and left as it is`, async t => {
      const file = await sample(t, left);
      inflict(file);
      const before = fingerprint(file);
      const words = /store.db is damaged: .* aside and start again: usage is measured again/;
      await t.rejects(begin(file), { code: 'store_refused', message: words });
      t.strictSame(fingerprint(file), before);
    });
  }
}

t.test('a file that has lost its last byte is refused', async t => {
  const file = await sample(t);
  fs.truncateSync(file, fs.statSync(file).size - 1);
  await t.rejects(begin(file), { code: 'store_refused', message: /damaged: its last page is cut off/ });
});

const faults: Readonly<Record<string, { readonly sql: string; readonly says: RegExp }>> = {
  'a missing table': { sql: 'DROP TABLE owners', says: /no such table: owners/ },
  'a missing column': { sql: 'ALTER TABLE units DROP COLUMN host', says: /no such column: host/ },
  'an id that is no text': {
    sql: "UPDATE owners SET key = x'ff'",
    says: /owners cannot be read.*key is no text/,
  },
  'half of a pair of halves': { sql: "UPDATE owners SET name = x'eda0bdedb880'", says: /name is no text/ },
  'a text cut short': { sql: "UPDATE owners SET name = x'eda0'", says: /name is no text/ },
  'a leaf that there is not': {
    sql: "UPDATE units SET leaf = 'size:all'",
    says: /units cannot be read.*leaf is no leaf/,
  },
  'an inode that is no number': {
    sql: "INSERT INTO roots VALUES (x'2f', '1', '1x', NULL)",
    says: /inode is no number/,
  },
  'a number out of range': {
    sql: 'PRAGMA ignore_check_constraints = ON; UPDATE units SET bytes = 9007199254740992',
    says: /CHECK constraint failed in units/,
  },
  'a kind that there is not': {
    sql: "PRAGMA ignore_check_constraints = ON; UPDATE units SET kind = 'heard of'",
    says: /CHECK constraint failed in units/,
  },
  'a version that there never was': { sql: 'PRAGMA user_version = 0', says: /its version is 0/ },
};

for (const [fault, { sql: statements, says }] of Object.entries(faults)) {
  t.test(`a file with ${fault} is refused and left as it is`, async t => {
    const file = await sample(t);
    sql(file, statements);
    const bytes = fs.readFileSync(file);
    await t.rejects(begin(file), { code: 'store_refused', message: says });
    t.ok(bytes.equals(fs.readFileSync(file)));
    t.strictSame(fs.readdirSync(join(file, '..')), ['store.db']);
  });
}

for (const left of ['closed', 'killed'] as const) {
  t.test(`a file that a newer softquota left ${left} is refused and left as it is`, async t => {
    const file = await sample(t, left);
    if (left === 'closed') sql(file, 'PRAGMA user_version = 99');
    else overwriteVersionInLog(file);
    const before = fingerprint(file);
    await t.rejects(begin(file), {
      code: 'store_refused',
      message: /written by a newer softquota: it has version 99/,
    });
    t.strictSame(fingerprint(file), before);
  });
}

/** Writes a version as a newer daemon does that is killed before its log is carried over. */
function overwriteVersionInLog(file: string): void {
  const statements = 'PRAGMA locking_mode = EXCLUSIVE; PRAGMA user_version = 99';
  const program = `new (require('node:sqlite').DatabaseSync)(${JSON.stringify(file)}).exec(${JSON.stringify(statements)}); process.kill(process.pid, 'SIGKILL')`;
  const { signal } = spawnSync(process.execPath, ['-e', program]);
  if (signal !== 'SIGKILL') throw new Error('the newer daemon was not killed');
}

t.test("another program's database is refused and left as it is, in the middle of its work too", async t => {
  const file = join(t.testdir(), 'store.db');
  const other = new DatabaseSync(file);
  t.teardown(() => other.close());
  other.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (note TEXT); INSERT INTO notes VALUES (1)');
  const before = fingerprint(file);
  await t.rejects(begin(file), { code: 'store_refused', message: /is a database of another program/ });
  t.strictSame(fingerprint(file), before);
});

t.test('a log without its file is not taken for another file, nor thrown away', async t => {
  const file = await sample(t, 'killed');
  fs.rmSync(file);
  const before = fingerprint(file);
  await t.rejects(begin(file), {
    code: 'store_refused',
    message: /the file is missing, while .*-wal.* is there/,
  });
  t.strictSame(fingerprint(file), before);
});
