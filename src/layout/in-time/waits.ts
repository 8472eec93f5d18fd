/** Places at which a process waits for a disk. */

import { readFileSync } from 'node:fs';
import { printable, shellQuoted } from '../../text/index.ts';
import { mountsIn, mountTable } from '../mounts.ts';
import { decodePath } from '../path.ts';

export interface Wait {
  /** What was looked at. */
  readonly path: string;
  /** The directory below which all is on the same file system. */
  readonly place: string;
  /** Where that file system is mounted. */
  readonly mountedAt: string;
}

/**
 * Where a process waits that last looked at this path. All other file systems are below the first one, so of
 * that the place is the path alone.
 */
export function waitAt(path: string): Wait {
  const mountedAt = mountOf(path);
  return { path, place: mountedAt === '/' ? path : mountedAt, mountedAt };
}

function mountOf(path: string): string {
  try {
    return mountTable(mountsIn(decodePath(readFileSync('/proc/self/mountinfo'))))(path)?.at ?? '/';
  } catch {
    return '/';
  }
}

/** A sentence that names the disk, and what to do. */
export function hangWords({ place, mountedAt }: Wait): string {
  // Unlike --target, this asks the system's list and not the disk.
  const look = `findmnt --mountpoint ${shellQuoted(mountedAt)}`;
  return printable(
    `the disk at ${place} does not answer, so nothing on it was changed: find its server (${look}), then run this again`,
  );
}
