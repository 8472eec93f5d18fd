/** Files to be opened, or to be damaged first. */

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type HistoryStore, openStore, type Store } from '../../src/store/index.ts';
import { batch } from './batches.ts';
import { killAfter, startWriter } from './killing.ts';
import { allIn } from './model.ts';

/** How the daemon ended: in order, or killed, with the newest batches in the log only. */
export type Left = 'closed' | 'killed';

export const open = (file: string): Promise<Store & HistoryStore> => openStore({ adapter: 'sqlite', file });

/** Opens and loads, as a daemon does when it starts. */
export async function begin(file: string): Promise<void> {
  const store = await open(file);
  try {
    await allIn(store);
  } finally {
    await store.close();
  }
}

/** A store of the test's own; the only file of its directory, but for the log of one that was killed. */
export async function sample(t: Test, left: Left = 'closed'): Promise<string> {
  const directory = t.testdir();
  fs.cpSync(await (left === 'closed' ? closed() : killed()), directory, { recursive: true });
  return join(directory, 'store.db');
}

const closed = once(async directory => {
  const store = await open(join(directory, 'store.db'));
  // The log of the killed holds other pages, and so mends none of these.
  const roots = Array.from({ length: 3000 }, (_, index) => ({
    path: `/srv/${index}`,
    device: 1n,
    inode: 1n,
    fileSystem: null,
  }));
  await store.write({ roots });
  await store.write(batch(1));
  await store.close();
});

const killed = once(async directory => {
  fs.cpSync(await closed(), directory, { recursive: true });
  await killAfter(1, startWriter(join(directory, 'store.db')));
});

/** Makes a directory's content when it is asked for first; samples are copied from it. */
function once(make: (directory: string) => Promise<void>): () => Promise<string> {
  let made: Promise<string> | null = null;
  return () => {
    made ??= (async () => {
      const directory = fs.mkdtempSync(join(tmpdir(), 'softquota-sample-'));
      t.teardown(() => fs.rmSync(directory, { recursive: true }));
      await make(directory);
      return directory;
    })();
    return made;
  };
}

/** The names, modes and bytes of all that lies beside the file. */
export function fingerprint(file: string): readonly string[] {
  const directory = join(file, '..');
  return fs.readdirSync(directory).map(name => {
    const path = join(directory, name);
    const { mode, mtimeMs } = fs.statSync(path);
    return `${name} ${mode} ${mtimeMs} ${createHash('sha256').update(fs.readFileSync(path)).digest('hex')}`;
  });
}
