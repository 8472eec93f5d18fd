/** Names of this host, each made once and kept in DATA_PATH. */

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { keptOnce } from './kept-once.ts';

const form = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Gives the host id where `[server] HOST_ID` is not given. Throws `configuration` where it can be neither
 * read nor made.
 */
export function hostIdIn(dataPath: string): string {
  return nameIn(join(dataPath, 'host.id'), ', or set [server] HOST_ID');
}

/** Secret that proves this host to be the one that had its name before. Throws as `hostIdIn` does. */
export function hostTokenIn(dataPath: string): string {
  return nameIn(join(dataPath, 'host.token'), '');
}

function nameIn(file: string, otherwise: string): string {
  return keptOnce({
    file,
    read: text => (form.test(text.trim()) ? text.trim() : null),
    unread: `does not contain a host name (letters, digits, ".", "_", "-"); remove it to create a new one${otherwise}`,
    make: randomUUID,
  });
}
