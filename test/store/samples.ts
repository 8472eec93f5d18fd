/** Files to be opened, or to be damaged first. */

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openStore } from '../../src/store/index.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { batch } from './batches.ts';
import { killAfter, startWriter } from './killing.ts';
import { allIn } from './model.ts';

/** End of the daemon: in order, or killed, with the newest batches in the log only. */
export type Left = 'closed' | 'killed';

export const open = (file: string): ReturnType<typeof openStore> => openStore({ file });

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
  // There are enough rows for damages to overwrite other pages than those that the killed one wrote.
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

/** The pages that damages overwrite; what the log holds of them would mend the file. */
const damagedPages = [1, 10];

/**
 * A writer that is killed late may have written anything, the file's first page among it: then it is made
 * anew.
 */
const killed = once(async directory => {
  const file = join(directory, 'store.db');
  do {
    fs.rmSync(directory, { recursive: true });
    fs.cpSync(await closed(), directory, { recursive: true });
    await killAfter(1, startWriter(file));
  } while (damagedPages.some(page => pagesInLog(`${file}-wal`).has(page)));
});

/**
 * The numbers of the pages that a log of SQLite's holds: after its head come frames, each a head and a page.
 */
function pagesInLog(file: string): ReadonlySet<number> {
  const log = fs.readFileSync(file);
  const frameBytes = 24 + log.readUInt32BE(8);
  const pages = new Set<number>();
  for (let at = 32; at + frameBytes <= log.length; at += frameBytes) pages.add(log.readUInt32BE(at));
  return pages;
}

/** Makes a directory's content when it is asked for first; samples are copied from it. */
function once(make: (directory: string) => Promise<void>): () => Promise<string> {
  let made: Promise<string> | null = null;
  return () => {
    made ??= (async () => {
      const directory = temporaryFolder(t);
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
