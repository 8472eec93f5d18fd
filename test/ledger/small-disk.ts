/** A file system of a megabyte that can be filled and emptied; mounting it needs root. */

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { systemCode } from '../../src/errors.ts';

export interface SmallDisk {
  readonly directory: string;
  /** Takes all the room that is left. */
  fill(): void;
  makeRoom(): void;
}

export function smallDisk(t: Test): SmallDisk {
  const directory = fs.mkdtempSync(join(tmpdir(), 'sq-disk-'));
  const ballast = join(directory, 'ballast');
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'softquota-test', directory]);
  t.teardown(() => {
    spawnSync('umount', [directory]);
    fs.rmdirSync(directory);
  });
  if (mounted.status !== 0) throw new Error(`mounting needs root: ${mounted.stderr}`);
  const fill = () => {
    const handle = fs.openSync(ballast, 'a');
    try {
      for (;;) fs.writeSync(handle, Buffer.alloc(1024));
    } catch (error) {
      if (systemCode(error) !== 'ENOSPC') throw error;
    } finally {
      fs.closeSync(handle);
    }
  };
  return { directory, fill, makeRoom: () => fs.rmSync(ballast) };
}
