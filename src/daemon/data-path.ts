/** DATA_PATH: what the daemon keeps on this host. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, SoftquotaError } from '../errors.ts';

/** Nobody but the daemon's own user gets at what it makes; sockets are opened wider once they stand. */
const privateUmask = 0o077;

/** Makes the directory where there is none; throws `configuration`. From then on new files are private. */
export function prepareDataPath(dataPath: string): void {
  process.umask(privateUmask);
  try {
    mkdirSync(dataPath, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const why = messageOf(cause);
    const message = `[server] DATA_PATH = ${dataPath}: cannot be created: ${why}`;
    throw new SoftquotaError('configuration', message, { cause });
  }
}

export function storeFile(dataPath: string): string {
  return join(dataPath, 'softquota.db');
}
