/**
 * Identifies a file system, so that another one in its place is noticed.
 *
 * Device numbers are given again at every mount, and the first directory of every ext4 is inode 2. What stays
 * with a file system is its UUID. It is known to udev, where that runs; of many file systems statfs(2) tells
 * a number that is made of it, which Node does not pass on, but stat(1) does. What lies on a server is known
 * by the server's name for it.
 */

import { execFileSync } from 'node:child_process';
import { lstatSync, readdirSync, statSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import { beforeLook, encodePath, isOfNetwork, type Mount, type MountTable } from '../layout/index.ts';

const byUuid = '/dev/disk/by-uuid';

const statMs = 5000;

/**
 * The marks of the file system at a path, links resolved, on this device: words of the form `kind=mark`. Null
 * where nothing is known. Asks the disk, so it is for worker threads.
 */
export function fileSystemAt(path: string, device: bigint, mountAt: MountTable): string | null {
  beforeLook(path);
  const mount = mountAt(path);
  const marks = [
    ['uuid', mount === null ? null : uuidOf(mount.source)],
    ['fsid', fsidOf(path, device, mount)],
    ['source', mount === null ? null : remoteName(mount)],
  ] as const;
  const words = marks.flatMap(([kind, mark]) =>
    mark === null ? [] : [`${kind}=${encodeURIComponent(mark)}`],
  );
  return words.length === 0 ? null : words.join(' ');
}

/**
 * Tells whether two are the same file system, by the marks that are known of both; null where there are none.
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

interface KnownFsid {
  /** The statuses of the places, as they were when `stat` was asked. */
  readonly evidence: string;
  readonly fsid: string | null;
}

/** By path; a thread lives long, and asks before and after each sweep. */
const knownFsids = new Map<string, KnownFsid>();
/** One for each directory that a template begins with. */
const mostKnown = 1000;

/**
 * Starting a program takes longer than to compare all of a thousand units: it is asked again only where the
 * mount, its first directory or the directory at the path are others, or have changed at all.
 */
function fsidOf(path: string, device: bigint, mount: Mount | null): string | null {
  const evidence = mount === null ? null : evidenceOf(path, mount);
  const known = knownFsids.get(path);
  if (known !== undefined && known.evidence === evidence) return known.fsid;
  const fsid = fsidAt(path, device);
  if (knownFsids.size >= mostKnown) knownFsids.clear();
  if (evidence !== null && fsid !== undefined) knownFsids.set(path, { evidence, fsid });
  return fsid ?? null;
}

/** Null where the system does not say. */
function evidenceOf(path: string, mount: Mount): string | null {
  try {
    const statuses = [mount.at, path].map(place => {
      beforeLook(place);
      const { dev, ino, birthtimeNs, mtimeNs, ctimeNs } = lstatSync(encodePath(place), { bigint: true });
      return [dev, ino, birthtimeNs, mtimeNs, ctimeNs].join(' ');
    });
    return JSON.stringify([mount, statuses]);
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return null;
  }
}

/**
 * Returns `f_fsid` of statfs(2); null if it is 0, or only another form of the device number; undefined where
 * nobody said it this time.
 */
function fsidAt(path: string, device: bigint): string | null | undefined {
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
    return undefined;
  }
}

function remoteName(mount: Mount): string | null {
  return isOfNetwork(mount) || mount.type === 'zfs' ? `${mount.type} ${mount.source}` : null;
}
