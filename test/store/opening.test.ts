/** Files that may be opened as a store, and how a new one comes to be. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { temporaryFolder } from '../temporary-folder.ts';
import { batch, batchIn } from './batches.ts';
import { refusedWriter, writerProgram } from './killing.ts';
import { allIn } from './model.ts';
import { backToVersion8 } from './older.ts';
import { share, unit } from './records.ts';
import { begin, fingerprint, open, sample } from './samples.ts';

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
  const directory = temporaryFolder(t);
  fs.chmodSync(directory, 0o755);
  const file = join(directory, 'store.db');
  await begin(file);
  const before = fingerprint(file);
  spawnSync('mount', ['--bind', directory, directory]);
  t.teardown(() => spawnSync('umount', ['-l', directory]));
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
  t.test(`a second daemon on a file left ${left} is refused at once, and the first goes on`, async t => {
    const file = await sample(t, left);
    const store = await open(file);
    t.teardown(() => store.close());
    const held = batchIn(await allIn(store));
    await store.write(batch(held + 1));
    const second = refusedWriter(file);
    t.equal(second.status, 1);
    t.match(second.words, /store_refused/);
    t.match(second.words, /store.db is in use by another softquota daemon/);
    await store.write(batch(held + 2));
    t.equal(batchIn(await allIn(store)), held + 2);
  });
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
  batchIn(await allIn(store));
});

t.test('a copy that another tool made, without a log, is opened as a store', async t => {
  const file = await sample(t);
  const copy = join(file, '..', 'copy.db');
  const tool = new DatabaseSync(file);
  tool.exec(`VACUUM INTO '${copy}'`);
  tool.close();
  const store = await open(copy);
  t.teardown(() => store.close());
  t.equal(batchIn(await allIn(store)), 1);
  await store.write(batch(2));
  t.ok(fs.existsSync(`${copy}-wal`));
});

t.test('a store of the first release is brought up to date, and keeps all that was in it', async t => {
  const file = await sample(t);
  const old = new DatabaseSync(file);
  old.exec(backToVersion8);
  old.close();
  for (const opened of ['first', 'again']) {
    const store = await open(file);
    t.equal(batchIn(await allIn(store)), 1, opened);
    t.strictSame(await store.unitSources.load(), []);
    await store.close();
  }
});

t.test('shares that an older version wrote stay when the store is brought up to date', async t => {
  const file = await sample(t);
  const sizes = { 'size:git:lfs': 45, 'size:repos:private': Number.MAX_SAFE_INTEGER };
  const shares = [
    share('alice', 'one', { bytes: sizes, unreachable: { 'size:repos:private': 3 }, partial: true }),
    share('bob', 'one', { bytes: {}, units: 0, measuredAt: null }),
  ];
  const old = new DatabaseSync(file);
  old.exec(backToVersion8);
  const put = old.prepare('INSERT INTO shares VALUES (?, ?, ?)');
  for (const { ownerKey, host, ...rest } of shares) {
    put.run(...[ownerKey, host, JSON.stringify(rest)].map(text => Buffer.from(text)));
  }
  old.close();
  const store = await open(file);
  t.teardown(() => store.close());
  t.strictSame((await allIn(store)).shares, shares);
});

t.test('an older store that cannot be brought up to date is left as it is', async t => {
  const file = await sample(t);
  const old = new DatabaseSync(file);
  old.exec(`${backToVersion8} DROP TABLE lineage`);
  old.close();
  const tables = () => {
    const db = new DatabaseSync(file);
    const found = db.prepare('SELECT sql FROM sqlite_schema').all();
    db.close();
    return found;
  };
  const before = tables();
  await t.rejects(begin(file), { code: 'store_refused', message: /is damaged: no such table: lineage/ });
  t.strictSame(tables(), before);
});
