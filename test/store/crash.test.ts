/** What is left when the daemon is killed (kill -9) at any moment. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { openStore, type Store } from '../../src/store/index.ts';
import { batchIn } from './batches.ts';

const kills = process.env.SOFTQUOTA_LONG ? 200 : 20;
t.setTimeout(kills * 10_000);

const program = join(import.meta.dirname, 'endless-writer.ts');

function start(file: string): ChildProcess {
  return spawn(process.execPath, [program, file], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Kills the writer when it has acknowledged so many writes; the first and the last that it said. */
async function killAfter(child: ChildProcess, acknowledgements: number) {
  if (child.stdout === null) throw new Error('the writer has no stdout');
  const exited = once(child, 'exit');
  let first = 0;
  let last = 0;
  let count = 0;
  for await (const line of createInterface(child.stdout)) {
    last = Number(line);
    first ||= last;
    if (++count === acknowledgements) child.kill('SIGKILL');
  }
  const [, signal] = await exited;
  if (signal !== 'SIGKILL') throw new Error('the writer ended by itself');
  return { first, last };
}

async function batchAt(file: string): Promise<number> {
  const store: Store = await openStore({ adapter: 'sqlite', file });
  try {
    return batchIn(await store.load());
  } finally {
    await store.close();
  }
}

t.test('kill -9 loses no acknowledged write and leaves no half one', async t => {
  const file = join(t.testdir(), 'store.db');
  let held = 0;
  let acknowledged = 0;
  for (let round = 0; round < kills; round++) {
    const { first, last } = await killAfter(start(file), 1 + Math.floor(Math.random() * 60));
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
    const child = start(file);
    const exited = once(child, 'exit');
    let events = 0;
    // Making a file takes some ten changes of its directory; each is a moment to die at.
    const watcher = watch(directory, () => {
      if (++events > round % 12) child.kill('SIGKILL');
    });
    await exited;
    watcher.close();
    const left = readdirSync(directory);
    const store = await openStore({ adapter: 'sqlite', file });
    await store.load();
    await store.close();
    t.strictSame(readdirSync(directory), ['store.db'], `${left} left by the killed one became a store`);
  }
});
