/**
 * Where the files of tests lie. Most live for seconds, and ext4 searches long for a place for a new file where
 * many have just been deleted: that took a tenth of the processor time of a whole run. So they lie in memory
 * where root runs the tests and there is enough of it.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';

const enoughBytes = 8e9;

/** Gives a directory that goes with this process, or the system's own. */
export function scratchDirectory(): string {
  if (process.getuid?.() !== 0 || freemem() < enoughBytes) return tmpdir();
  const directory = mkdtempSync(join(tmpdir(), 'sq-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=1777', 'tmpfs', directory]);
  process.on('exit', () => {
    // Programs that a test has left behind may still use it.
    execFileSync('umount', ['--lazy', directory]);
    rmdirSync(directory);
  });
  return directory;
}
