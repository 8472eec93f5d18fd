/**
 * Identifies a file system, so that another one in its place is noticed.
 *
 * Device numbers are given again at every mount, and the first directory of every ext4 is inode 2. Only the
 * UUID stays with a file system. udev knows it, where it runs. For many file systems statfs(2) returns a
 * number that is made of it; Node does not pass that on, but stat(1) does. A network file system is
 * identified by the server's name for it.
 */

import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { beforeLook, isOfNetwork, type Mount, type MountTable } from '../layout/index.ts';

const byUuid = '/dev/disk/by-uuid';

const statMs = 5000;

/**
 * Identifies the file system at a path, links resolved, on this device: words of the form `kind=mark`, or
 * null if nothing is known. Reads the disk, so it is for worker threads.
 */
export function fileSystemAt(path: string, device: bigint, mountAt: MountTable): string | null {
  beforeLook(path);
  const mount = mountAt(path);
  const marks = [
    ['uuid', mount === null ? null : uuidOf(mount.source)],
    ['fsid', fsidOf(path, device)],
    ['source', mount === null ? null : remoteName(mount)],
  ] as const;
  const words = marks.flatMap(([kind, mark]) =>
    mark === null ? [] : [`${kind}=${encodeURIComponent(mark)}`],
  );
  return words.length === 0 ? null : words.join(' ');
}

/**
 * Tells whether two texts of `fileSystemAt` name one file system, by the kinds of marks that both have; null
 * if there are none.
 */
export function areSame(one: string | null, other: string | null): boolean | null {
  const marks = marksOf(other);
  const common = [...marksOf(one)].filter(([kind]) => marks.has(kind));
  return common.length === 0 ? null : common.every(([kind, mark]) => marks.get(kind) === mark);
}

function marksOf(text: string | null): ReadonlyMap<string, string> {
  return new Map(
    (text ?? '').split(' ').flatMap(word => {
      const [kind = '', mark] = word.split('=');
      return mark === undefined ? [] : [[kind, mark]];
    }),
  );
}

/** The UUID on a disk, as udev has found it. */
function uuidOf(source: string): string | null {
  if (!source.startsWith('/dev/')) return null;
  try {
    const { rdev } = statSync(source, { bigint: true });
    if (rdev === 0n) return null;
    const isIt = (name: string): boolean =>
      statSync(`${byUuid}/${name}`, { bigint: true, throwIfNoEntry: false })?.rdev === rdev;
    return readdirSync(byUuid).find(isIt) ?? null;
  } catch {
    return null;
  }
}

/** Returns `f_fsid` of statfs(2); null if it is 0, only another form of the device number, or unknown. */
function fsidOf(path: string, device: bigint): string | null {
  try {
    const output = execFileSync('stat', ['-f', '-c', '%i', '--', path], {
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
      timeout: statMs,
      killSignal: 'SIGKILL',
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const fsid = output.trim();
    const digits = fsid.replaceAll('0', '');
    const isKnown = /^[0-9a-f]{1,16}$/.test(fsid) && digits !== '';
    return isKnown && digits !== device.toString(16).replaceAll('0', '') ? fsid : null;
  } catch {
    return null;
  }
}

function remoteName(mount: Mount): string | null {
  return isOfNetwork(mount) || mount.type === 'zfs' ? `${mount.type} ${mount.source}` : null;
}
