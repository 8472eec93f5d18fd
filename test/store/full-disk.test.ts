/** A disk without room: what is acknowledged stays, what is not is said, and it mends by itself. */

import fs from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openStore, type Store, type UnitRecord } from '../../src/store/index.ts';
import { fill, smallDisk } from '../faults/small-disk.ts';
import { batchIn } from './batches.ts';
import { killAfter, startWriter } from './killing.ts';
import { allIn, unitsIn } from './model.ts';
import { unit } from './records.ts';

const open = (file: string): Promise<Store> => openStore({ file });

const group = (name: string, size: number): readonly UnitRecord[] =>
  Array.from({ length: size }, (_, index) => unit(`/srv/git/${name}/${index}.git`));

/** Writes groups until one is not taken: those that were, and why that one was not. */
async function writeUntilRefused(store: Store, name: string) {
  const taken: UnitRecord[] = [];
  for (let n = 0; ; n++) {
    const units = group(`${name}-${n}`, 50);
    try {
      await store.write({ units });
    } catch (error) {
      return { taken, error };
    }
    taken.push(...units);
  }
}

async function ids(store: Store): Promise<readonly string[]> {
  return (await unitsIn(store)).map(({ id }) => id).sort();
}

const idsOf = (units: readonly UnitRecord[]) => units.map(({ id }) => id).sort();

t.test('a full disk takes nothing more, keeps what it had, and writes go on once there is room', async t => {
  const directory = await smallDisk(t);
  const file = join(directory, 'store.db');
  const store = await open(file);
  const ballast = join(directory, 'ballast');
  fs.writeFileSync(ballast, Buffer.alloc(400_000));

  const { taken, error } = await writeUntilRefused(store, 'first');
  t.match(error, { code: 'store_away', message: `${file} cannot be used at the moment: the disk is full` });
  t.ok(taken.length > 0);
  t.strictSame(await ids(store), idsOf(taken), 'what was refused is not there in part');
  await t.rejects(store.write({ units: group('more', 200) }), { code: 'store_away' }, 'and so again');

  fs.rmSync(ballast);
  const more = group('more', 200);
  await store.write({ units: more });
  t.strictSame(await ids(store), idsOf([...taken, ...more]));
  await store.close();
  t.strictSame(fs.readdirSync(directory), ['store.db']);
  const again = await open(file);
  t.teardown(() => again.close());
  t.strictSame(await ids(again), idsOf([...taken, ...more]));
});

t.test('beside a write that is too large for the disk, small ones are taken', async t => {
  const directory = await smallDisk(t);
  const store = await open(join(directory, 'store.db'));
  t.teardown(() => store.close());
  const before = store.write({ units: [unit('before')] });
  const large = store.write({ units: group('large', 20_000) });
  const after = store.write({ units: [unit('after')] });
  await t.rejects(large, { code: 'store_away' });
  await Promise.all([before, after]);
  t.strictSame(await ids(store), ['after', 'before']);
});

t.test('the log gives back its room when the disk is full', async t => {
  const directory = await smallDisk(t);
  const file = join(directory, 'store.db');
  const store = await open(file);
  t.teardown(() => store.close());
  // A few rows are written again and again: the file stays small, and the log grows.
  let seq = 0;
  do {
    await store.write({ units: [unit('a', { seq: ++seq })] });
  } while (fs.statSync(`${file}-wal`).size < 300_000);
  fill(directory);
  for (let more = 0; more < 300; more++) await store.write({ units: [unit('a', { seq: ++seq })] });
  t.strictSame(await unitsIn(store), [unit('a', { seq })]);
});

t.test('a store whose daemon was killed is opened on a full disk', async t => {
  const directory = await smallDisk(t);
  const file = join(directory, 'store.db');
  await killAfter(1, startWriter(file));
  t.ok(fs.statSync(`${file}-wal`).size > 0);
  fill(directory);
  const store = await open(file);
  t.teardown(() => store.close());
  t.ok(batchIn(await allIn(store)) > 0);
});

t.test('a store that cannot be made for want of room is refused, and leaves nothing', async t => {
  const directory = await smallDisk(t);
  const makeRoom = fill(directory);
  const refusal = { code: 'store_refused', message: /The disk is full: make room for it/ };
  await t.rejects(open(join(directory, 'store.db')), refusal);
  t.strictSame(fs.readdirSync(directory), ['ballast']);
  makeRoom();
  await (await open(join(directory, 'store.db'))).close();
});
