/** File systems small enough to fill up, and easy to take away. */

import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { systemCode } from '../../src/errors.ts';
import { must, run } from '../e2e/run.ts';

/** Mounts a tmpfs over a directory, until the test ends. */
export async function mountSmall(t: Test, directory: string, size: string): Promise<void> {
  await must('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'softquota-test', directory]);
  t.teardown(() => unmount(directory));
}

export async function unmount(directory: string): Promise<void> {
  await run('umount', ['-l', directory]);
}

/** Takes all the room that is left; gives how to make room again. */
export function fill(directory: string): () => void {
  const file = join(directory, 'ballast');
  const handle = openSync(file, 'a');
  try {
    for (;;) writeSync(handle, Buffer.alloc(1024));
  } catch (error) {
    if (systemCode(error) !== 'ENOSPC') throw error;
  } finally {
    closeSync(handle);
  }
  return () => rmSync(file);
}
