/** Files that appear whole or not at all. */

import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * Writes the text to a temporary file, and removes that after `use`. The file is in the same folder, so that
 * relative paths in the text mean the same.
 */
export function withDraft<T>(file: string, text: string, mode: number, use: (draft: string) => T): T {
  const draft = join(dirname(file), `.${basename(file)}.${randomUUID()}`);
  const descriptor = openSync(draft, 'wx', mode);
  try {
    try {
      // On a full disk, writeSync would write a part without an error.
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    return use(draft);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Waits until the names in a directory are on the disk. */
export function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
