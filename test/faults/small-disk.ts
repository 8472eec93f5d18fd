/** File systems small enough to fill up, and easy to take away; mounting them needs root. */

import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { systemCode } from '../../src/errors.ts';
import { must, run } from '../e2e/run.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A directory of the test's own with a megabyte of room; nothing there may be open when the test ends. */
export async function smallDisk(t: Test): Promise<string> {
  const directory = temporaryFolder(t);
  await mount(directory, '1m');
  t.teardown(() => must('umount', ['-l', directory]));
  return directory;
}

/** Mounts a tmpfs over a directory, until the test ends. */
export async function mountSmall(t: Test, directory: string, size: string): Promise<void> {
  await mount(directory, size);
  t.teardown(() => unmount(directory));
}

/** Mounts a small disk for a daemon's data, where nobody else may write. */
export async function mountSmallData(t: Test, directory: string, size: string): Promise<void> {
  await mountSmall(t, directory, size);
  await chmod(directory, 0o700);
}

async function mount(directory: string, size: string): Promise<void> {
  await must('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'softquota-test', directory]);
}

export async function unmount(directory: string): Promise<void> {
  await run('umount', ['-l', directory]);
}

/** Takes all the room that is left, and what becomes free later; gives how to make room again. */
export function keepFull(directory: string): () => void {
  fill(directory);
  const again = setInterval(() => fill(directory), 5);
  return () => {
    clearInterval(again);
    rmSync(ballastIn(directory));
  };
}

/** Takes all the room that is left; gives how to make room again. */
export function fill(directory: string): () => void {
  const file = ballastIn(directory);
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

function ballastIn(directory: string): string {
  return join(directory, 'ballast');
}
