/**
 * Values that are made once and kept in DATA_PATH, each in a small file that only the daemon's own user may
 * read.
 */

import { linkSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory, withDraft } from '../draft.ts';
import { messageOf, SoftquotaError, systemCode } from '../errors.ts';

interface KeptOnce<T> {
  readonly file: string;
  /** Returns the value in the file's text; null if the text holds none of this kind. */
  read(text: string): T | null;
  /**
   * Error for a file without such a value, said after the file's name: `holds no host's name; remove it ...`
   */
  readonly unread: string;
  make(): string;
}

/** Throws `configuration` where it can be neither read nor made. */
export function keptOnce<T>(kept: KeptOnce<T>): T {
  return named(kept.file, () => readIn(kept) ?? made(kept));
}

/** Null: there is no such file. Throws `configuration` where it cannot be read, or holds something else. */
export function keptIn<T>(kept: KeptOnce<T>): T | null {
  return named(kept.file, () => readIn(kept));
}

function named<T>(file: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    if (error instanceof SoftquotaError) throw error;
    const why = messageOf(error);
    throw new SoftquotaError('configuration', `${file} cannot be read or created: ${why}`, { cause: error });
  }
}

function readIn<T>({ file, read, unread }: KeptOnce<T>): T | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
  const found = read(text);
  if (found === null) throw new SoftquotaError('configuration', `${file} ${unread}`);
  return found;
}

/** Also when two daemons start at once, all have the value of one of them. */
function made<T>(kept: KeptOnce<T>): T {
  const { file, make } = kept;
  withDraft(file, `${make()}\n`, 0o600, draft => {
    try {
      linkSync(draft, file);
      syncDirectory(dirname(file));
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
    }
  });
  const found = readIn(kept);
  if (found === null)
    throw new SoftquotaError('configuration', `${file} was removed as soon as it was created`);
  return found;
}
