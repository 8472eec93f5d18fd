/** Content of the store after the daemon is killed (kill -9) at any moment. */

import { readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openStore, type Store } from '../../src/store/index.ts';
import { isLong } from '../run-length.ts';
import { batchIn } from './batches.ts';
import { killAfter, startWriter } from './killing.ts';
import { allIn } from './model.ts';

const kills = isLong ? 200 : 10;
t.setTimeout(kills * 10_000);

async function batchAt(file: string): Promise<number> {
  const store: Store = await openStore({ file });
  try {
    return batchIn(await allIn(store));
  } finally {
    await store.close();
  }
}

t.test('kill -9 loses no acknowledged write and leaves no half one', async t => {
  const file = join(t.testdir(), 'store.db');
  let held = 0;
  let acknowledged = 0;
  for (let round = 0; round < kills; round++) {
    const { first, last } = await killAfter(1 + Math.floor(Math.random() * 60), startWriter(file));
    t.ok(first > acknowledged, `round ${round}: ${acknowledged} was acknowledged, and ${first} is next`);
    acknowledged = last;
    // Every other time the next writer finds the killed one's log, not a store that was opened in between.
    if (round % 2 === 0) continue;
    held = await batchAt(file);
    t.ok(
      held >= acknowledged,
      `round ${round}: ${acknowledged} was acknowledged, and ${held} is held, whole`,
    );
  }
  t.ok(held > kills, 'and every writer went on from there');
});

t.test('kill -9 while the file is made leaves nothing, or a store', async t => {
  for (let round = 0; round < kills; round++) {
    const directory = t.testdir();
    const file = join(directory, 'store.db');
    const writer = startWriter(file);
    let events = 0;
    // Making a file takes some ten changes of its directory; each is a moment to die at, the first write the
    // last.
    const watcher = watch(directory, () => {
      if (++events > round % 12) writer.kill('SIGKILL');
    });
    await killAfter(1, writer);
    watcher.close();
    const left = readdirSync(directory);
    const store = await openStore({ file });
    await store.load();
    await store.close();
    t.strictSame(readdirSync(directory), ['store.db'], `${left} left by the killed one became a store`);
  }
});
