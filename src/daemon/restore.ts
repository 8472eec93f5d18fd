/** Putting a backup where a daemon will find it. */

import { statSync } from 'node:fs';
import { type Backup, type Restored, restore } from '../backup/index.ts';
import { openStore } from '../store/index.ts';
import { prepareDataPath, storeFile } from './data-path.ts';

/**
 * Puts the backup into the embedded store below DATA_PATH, which is made where there is none. Rejects with
 * `store_refused`, also while a daemon has the store open, and with `conflict` as `restore` does.
 */
export async function restoreInto(
  dataPath: string,
  backup: Backup,
  options: { readonly replace: boolean },
): Promise<Restored> {
  prepareDataPath(dataPath);
  becomeOwnerOf(dataPath);
  const store = await openStore({ file: storeFile(dataPath) });
  try {
    return await restore(store, backup, options);
  } finally {
    await store.close();
  }
}

/** A store that root makes would be one that the daemon cannot open. */
function becomeOwnerOf(dataPath: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dataPath);
  if (uid === 0) return;
  process.setgroups?.([]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}
