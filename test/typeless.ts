/** A file system that tells no types of entries, as some of NFS and XFS do. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Teardown, temporaryFolder } from './temporary-folder.ts';

/** Mounts an empty one until the test is over; returns where. */
export function mountTypeless(t: Teardown): string {
  const folder = temporaryFolder(t);
  const [image, at] = [join(folder, 'image'), join(folder, 'disk')];
  mkdirSync(at);
  writeFileSync(image, '');
  truncateSync(image, 2 ** 25);
  execFileSync('mke2fs', ['-q', '-t', 'ext2', '-N', '8192', '-O', '^filetype', image]);
  execFileSync('mount', ['-o', 'loop', image, at]);
  t.teardown(() => execFileSync('umount', ['-l', at]));
  rmSync(join(at, 'lost+found'), { recursive: true });
  return at;
}
