/** Which files are opened as a store, and that those which are not keep every byte. */

import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { openStore, type Store } from '../../src/store/index.ts';
import { batch, batchIn } from './batches.ts';
import { killAfter, refusedWriter, startWriter, writerProgram } from './killing.ts';
import { unit } from './records.ts';

const open = (file: string): Promise<Store> => openStore({ adapter: 'sqlite', file });

/** A store that was closed in order, or one whose daemon was killed and left a log of the newest batches. */
async function sample(t: Test, left: 'closed' | 'killed' = 'closed'): Promise<string> {
  const file = join(t.testdir(), 'store.db');
  const store = await open(file);
  // The log of the killed holds other pages, and so mends none of these.
  const roots = Array.from({ length: 3000 }, (_, index) => ({
    path: `/srv/${index}`,
    device: 1n,
    inode: 1n,
  }));
  await store.write({ roots });
  await store.write(batch(1));
  await store.close();
  if (left === 'killed') await killAfter(1, startWriter(file));
  return file;
}

/** The names, modes and bytes of all that lies beside the file. */
function fingerprint(file: string): readonly string[] {
  const directory = join(file, '..');
  return fs.readdirSync(directory).map(name => {
    const path = join(directory, name);
    const { mode, mtimeMs } = fs.statSync(path);
    const bytes = fs.statSync(path).isFile() ? fs.readFileSync(path) : '';
    return `${name} ${mode} ${mtimeMs} ${createHash('sha256').update(bytes).digest('hex')}`;
  });
}

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

/** Opens and loads, as a daemon does when it starts. */
async function begin(file: string): Promise<void> {
  const store = await open(file);
  try {
    await store.load();
  } finally {
    await store.close();
  }
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
      await t.rejects(begin(file), { code: 'store_refused', message: /store.db is damaged: / });
      await t.rejects(begin(file), { message: /aside and start again: usage is measured anew/ });
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
    sql: "INSERT INTO roots VALUES (x'2f', '1', '1x')",
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
    if (left === 'closed') sql(file, 'PRAGMA user_version = 2');
    else overwriteVersionInLog(file);
    const before = fingerprint(file);
    await t.rejects(begin(file), {
      code: 'store_refused',
      message: /written by a newer softquota: it has version 2/,
    });
    t.strictSame(fingerprint(file), before);
  });
}

/** As a newer daemon does that is killed before its log is carried over. */
function overwriteVersionInLog(file: string): void {
  const statements = 'PRAGMA locking_mode = EXCLUSIVE; PRAGMA user_version = 2';
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

t.test('a directory or a pipe in its place is refused', async t => {
  const directory = t.testdir({ 'store.db': {} });
  await t.rejects(begin(join(directory, 'store.db')), {
    code: 'store_refused',
    message: /it is a directory/,
  });
  const pipe = join(directory, 'pipe');
  spawnSync('mkfifo', [pipe]);
  await t.rejects(begin(pipe), { code: 'store_refused', message: /it is no regular file/ });
  await t.rejects(begin(join(directory, 'none', 'store.db')), { code: 'store_refused', message: /ENOENT/ });
});

t.test('a file that the daemon may not read or write is refused', async t => {
  const directory = fs.mkdtempSync(join(tmpdir(), 'softquota-store-'));
  t.teardown(() => fs.rmSync(directory, { recursive: true }));
  fs.chmodSync(directory, 0o755);
  const file = join(directory, 'store.db');
  await begin(file);
  const before = fingerprint(file);
  spawnSync('mount', ['--bind', directory, directory]);
  t.teardown(() => spawnSync('umount', [directory]));
  const { status, stderr } = spawnSync('mount', ['-o', 'remount,bind,ro', directory]);
  t.equal(status, 0, `mounting needs root: ${stderr}`);
  await t.rejects(begin(file), { code: 'store_refused', message: /cannot be opened: EROFS/ });
  await t.rejects(begin(join(directory, 'new.db')), {
    code: 'store_refused',
    message: /cannot be opened: EROFS/,
  });
  t.strictSame(fingerprint(file), before);
});

t.test('a file whose permissions keep the daemon out is refused', async t => {
  const file = await sample(t);
  fs.chmodSync(file, 0o000);
  // Root may read everything, unless that is taken from it.
  const lost = '-dac_override,-dac_read_search';
  const { status, words } = refusedWriter(file, ['setpriv', `--bounding-set=${lost}`, `--inh-caps=${lost}`]);
  t.equal(status, 1);
  t.match(words, /store_refused/);
  t.match(words, /store.db cannot be opened: EACCES/);
});

for (const left of ['closed', 'killed'] as const) {
  t.test(
    `a second daemon on a file that was left ${left} is refused at once, and the first goes on`,
    async t => {
      const file = await sample(t, left);
      const store = await open(file);
      t.teardown(() => store.close());
      const held = batchIn(await store.load());
      await store.write(batch(held + 1));
      const second = refusedWriter(file);
      t.equal(second.status, 1);
      t.match(second.words, /store_refused/);
      t.match(second.words, /store.db is in use by another softquota daemon/);
      await store.write(batch(held + 2));
      t.equal(batchIn(await store.load()), held + 2);
    },
  );
}

t.test('a file that is open in this process is refused by whatever name, and stays locked', async t => {
  const file = await sample(t);
  const store = await open(file);
  const link = join(file, '..', 'link.db');
  fs.symlinkSync(file, link);
  await t.rejects(open(file), { code: 'store_refused', message: /in use/ });
  await t.rejects(open(link), { code: 'store_refused', message: /in use/ });
  t.match(refusedWriter(file).words, /in use/);
  await store.close();
  await begin(link);
});

t.test('a new file is readable by its owner only, and so is its log', async t => {
  const file = join(t.testdir(), 'store.db');
  const mask = process.umask(0);
  t.teardown(() => process.umask(mask));
  const store = await open(file);
  await store.write({ units: [unit('a')] });
  const modes = fs
    .readdirSync(join(file, '..'))
    .map(name => [name, fs.statSync(join(file, '..', name)).mode & 0o777]);
  t.strictSame(modes, [
    ['store.db', 0o600],
    ['store.db-wal', 0o600],
  ]);
  await store.close();
  t.strictSame(fs.readdirSync(join(file, '..')), ['store.db'], 'a closed store is one file');
});

t.test('of two daemons that make the same file at the same time one gets it', async t => {
  const file = join(t.testdir(), 'store.db');
  const children = [1, 2].map(() =>
    spawn(process.execPath, [writerProgram, file], { stdio: ['ignore', 'ignore', 'pipe'] }),
  );
  const words = children.map(({ stderr }) => text(stderr));
  // One writes until it is killed, the other ends by itself.
  const loser = await Promise.race(children.map((child, index) => once(child, 'exit').then(() => index)));
  t.match(await words[loser], /in use/);
  const winner = children[1 - loser];
  t.equal(winner?.exitCode, null);
  winner?.kill('SIGKILL');
  await words[1 - loser];
  const store = await open(file);
  t.teardown(() => store.close());
  batchIn(await store.load());
});

t.test('a copy that another tool made, without a log, is opened as a store', async t => {
  const file = await sample(t);
  const copy = join(file, '..', 'copy.db');
  sql(file, `VACUUM INTO '${copy}'`);
  const store = await open(copy);
  t.teardown(() => store.close());
  t.equal(batchIn(await store.load()), 1);
  await store.write(batch(2));
  t.ok(fs.existsSync(`${copy}-wal`));
});
