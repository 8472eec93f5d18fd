/** The lock that git gc takes in a repository, so that two collections never meet. */

import { lstat, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { readBounded } from '../../../bounded/index.ts';
import { systemCode } from '../../../errors.ts';
import { encodePath } from '../../../layout/index.ts';

/** A lock is believed for so long, as git does. */
export const staleMs = 12 * 3_600_000;
/** A lock gets its text at once: one that is empty for longer is left from a process that was killed. */
const emptyMs = 10_000;

/** Takes `gc.pid`; gives what lets it go, or null where another collection is under way. */
export async function lockForGc(path: string): Promise<(() => Promise<void>) | null> {
  const file = encodePath(`${path}/gc.pid`);
  const making = encodePath(`${path}/gc.pid.lock`);
  const text = `${process.pid} ${hostname()}`;
  if (await isHeld(`${path}/gc.pid.lock`)) return null;
  // Otherwise one that was killed here would stop all that come after it.
  await rm(making, { force: true });
  try {
    await writeFile(making, text, { flag: 'wx', mode: 0o644 });
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return null;
    throw error;
  }
  // Nobody else can take it from here on.
  if (await isHeld(`${path}/gc.pid`)) {
    await rm(making, { force: true });
    return null;
  }
  await rename(making, file);
  return async () => {
    // Somebody who took ours for stale has it now.
    if (textOf(`${path}/gc.pid`) === text) await rm(file, { force: true });
  };
}

async function isHeld(path: string): Promise<boolean> {
  const text = textOf(path);
  if (text === null) return false;
  const { mtimeMs } = await lstat(encodePath(path));
  const ageMs = Date.now() - mtimeMs;
  if (ageMs > (text === '' ? emptyMs : staleMs)) return false;
  const [, pid = '', host = ''] = /^(\d+) (\S+)/.exec(text) ?? [];
  if (pid === '' || host !== hostname()) return true;
  return isAlive(Number(pid));
}

function textOf(path: string): string | null {
  const file = readBounded(encodePath(path), { mostBytes: 1024 });
  return file.kind === 'file' ? file.bytes.toString('latin1') : null;
}

/** A process of this host, other than this one. */
export function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}
