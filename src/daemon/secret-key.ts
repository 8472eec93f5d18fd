/**
 * The keys that secrets are encrypted with: those of `[security] SECRET_KEY`, and those kept in DATA_PATH.
 */

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../config/index.ts';
import { type SecretKeys, secretKeysOf } from '../oauth/index.ts';
import { keptIn, keptOnce } from './kept-once.ts';

const madeBytes = 48;
const shortest = 32;

/**
 * The given keys come first. `secret.key` has one on each line, the newest first; it is made where none is
 * given, and what was encrypted with it stays readable after one is. Throws `configuration`.
 */
export function secretKeysIn({ server, security }: Config): SecretKeys {
  const given = security.secretKeys;
  const kept = {
    file: join(server.dataPath, 'secret.key'),
    read: keysIn,
    unread: `does not contain keys: expected at least ${shortest} characters on each line. Restore the file, or remove it to create a new key: then all stored secrets have to be entered again`,
    make: () => randomBytes(madeBytes).toString('base64url'),
  };
  return secretKeysOf(given.length === 0 ? keptOnce(kept) : [...given, ...(keptIn(kept) ?? [])]);
}

function keysIn(text: string): readonly string[] | null {
  const keys = text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');
  return keys.length > 0 && keys.every(key => key.length >= shortest) ? keys : null;
}
