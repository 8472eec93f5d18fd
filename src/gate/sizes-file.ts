/**
 * The file by which hooks know that sizes count: it exists beside the socket while they do. So nobody
 * measures a push for nothing, and nobody asks the daemon for it.
 */

import { closeSync, openSync, rmSync } from 'node:fs';
import { systemCode } from '../errors.ts';

/** Where it lies for this `[server] SOCKET`. */
export function sizesFile(socket: string): string {
  return `${socket.replace(/\.sock$/, '')}.sizes`;
}

/**
 * Makes the file or removes it. At once, so that no push is asked about in between by another rule. Throws
 * the system's error.
 */
export function publishSizes(socket: string, doCount: boolean): void {
  const file = sizesFile(socket);
  if (!doCount) {
    rmSync(file, { force: true });
    return;
  }
  try {
    // Nothing is written through what may be there instead.
    closeSync(openSync(file, 'wx', 0o444));
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
}
