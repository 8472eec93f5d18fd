/** Reads the mounted file systems from /proc/self/mountinfo; see proc(5). */

import { spawn } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { decodePath, encodePath, namesOf, pathOf } from './path.ts';

export interface Mount {
  /** The directory of the file system that is mounted: `/` except for bind mounts and subvolumes. */
  readonly root: string;
  /** The directory at which it is mounted. */
  readonly at: string;
  /** No program on it can be run. */
  readonly isNoexec: boolean;
  /** Numbers of the device. One file system may be mounted at several places. */
  readonly device: string;
  readonly type: string;
  /** The mounted device, such as /dev/sda1 or server:/export, as it was written. */
  readonly source: string;
}

/** Parses a text in the form of /proc/self/mountinfo. */
export function mountsIn(mountinfo: string): readonly Mount[] {
  return mountinfo.split('\n').flatMap(line => {
    // "36 35 98:0 /root /mount/point options … - type source options"
    const [before = '', after = ''] = line.split(' - ');
    const [, , device = '', root = '', at = '', options = ''] = before.split(' ');
    const [type = '', source = ''] = after.split(' ');
    const isNoexec = options.split(',').includes('noexec');
    return at === ''
      ? []
      : [{ root: unescaped(root), at: unescaped(at), isNoexec, device, type, source: unescaped(source) }];
  });
}

/** Lists the mounts that this process sees. Throws on a system without /proc. */
export function mountsNow(): readonly Mount[] {
  return mountsIn(decodePath(readFileSync('/proc/self/mountinfo')));
}

/** Returns where the file system of a file is mounted, if with noexec; else null. Links are followed. */
export function noexecMountAt(path: string): string | null {
  const real = decodePath(realpathSync(encodePath(path), { encoding: 'buffer' }));
  const mount = mountTable(mountsNow())(real);
  return mount?.isNoexec === true ? mount.at : null;
}

/** Finds the mount that a path lies on; links in it must be resolved. Null if there is none. */
export type MountTable = (path: string) => Mount | null;

export function mountTable(mounts: readonly Mount[]): MountTable {
  // A later mount covers an earlier one in the same place.
  const byPlace = new Map(mounts.map(mount => [mount.at, mount]));
  return path => {
    for (let at = path; at !== '/' && at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
      const mount = byPlace.get(at);
      if (mount !== undefined) return mount;
    }
    return byPlace.get('/') ?? null;
  };
}

/**
 * Names a directory alike on all hosts that mount its file system under the same source: by the source, and
 * the path in it, such as `nas:/export/git`.
 */
export function sourceOf({ root, at, source }: Mount, path: string): string {
  const inside = `${root}/${path.slice(at.length)}`.split('/').filter(name => name !== '');
  return [source.replace(/\/+/g, '/').replace(/\/$/, ''), ...inside].join('/');
}

/**
 * Lists all paths by which mounts lead to the directory at a path, in which links are resolved; this path is
 * among them. Other mounts may hide some of them.
 */
export function pathsTo(path: string, mounts: readonly Mount[]): readonly string[] {
  const here = mountTable(mounts)(path);
  if (here === null) return [];
  const inside = namesOf(here.root + path.slice(here.at === '/' ? 0 : here.at.length));
  const paths = mounts.flatMap(({ device, root, at }) => {
    const above = namesOf(root);
    const isAround = device === here.device && above.every((name, index) => name === inside[index]);
    return isAround ? [pathOf([...namesOf(at), ...inside.slice(above.length)])] : [];
  });
  return [...new Set(paths)];
}

/** Types of file systems that other hosts may mount, too. */
const networkTypes: ReadonlySet<string> = new Set([
  '9p',
  'afs',
  'beegfs',
  'ceph',
  'cifs',
  'fuse.ceph',
  'fuse.glusterfs',
  'fuse.juicefs',
  'fuse.moosefs',
  'fuse.sshfs',
  'gfs2',
  'glusterfs',
  'gpfs',
  'lustre',
  'nfs',
  'nfs4',
  'ocfs2',
  'smb3',
  'smbfs',
]);

/** Tells whether other hosts may mount this file system, too. */
export function isOfNetwork({ type }: Pick<Mount, 'type'>): boolean {
  return networkTypes.has(type);
}

/** Beginnings of types whose times come from a program, or from the host of a virtual machine. */
const foreignTimes = ['fuse', 'prl_fs', 'vboxsf', 'virtiofs'];

/** Tells whether the times of changes there come from this system's clock, not from another. */
export function hasOwnTimes(mount: Pick<Mount, 'type'>): boolean {
  return !isOfNetwork(mount) && !foreignTimes.some(type => mount.type.startsWith(type));
}

/** Decodes the octal escapes for space, tab, line feed and backslash. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/** Finds the file system of a path in the system's list of mounts, without asking the disk. */
export class Mounts {
  #table: MountTable = mountTable([]);

  /** Reads the list again. Never rejects; if the list cannot be read, the previous one stays. */
  async refresh(): Promise<void> {
    try {
      this.#table = mountTable(mountsIn(decodePath(await readFile('/proc/self/mountinfo'))));
    } catch {
      // Not Linux, or no /proc: all paths are on one file system then.
    }
  }

  /** Returns the numbers of the device, the same at all places where one file system is mounted. */
  deviceOf(path: string): string {
    return this.#table(path)?.device ?? '';
  }

  /** See `hasOwnTimes`; false if the mount is not known. */
  isLocal(path: string): boolean {
    const mount = this.#table(path);
    return mount !== null && hasOwnTimes(mount);
  }

  /** Names a directory as all hosts do that mount its file system; null if the mount is not known. */
  sourceOf(path: string): { readonly source: string; readonly isOfNetwork: boolean } | null {
    const mount = this.#table(path);
    return mount === null ? null : { source: sourceOf(mount, path), isOfNetwork: isOfNetwork(mount) };
  }

  /** Returns the directory at which the path's file system is mounted. */
  placeOf(path: string): string {
    return this.#table(path)?.at ?? '/';
  }
}

/** Time in which a file server answers that is only slow. */
const answerMs = 5000;

/**
 * Lists the mounts of networks and programs that do not answer. All are tried at once, each by a process of
 * its own, since a call to a disk that hangs cannot be ended.
 */
export async function hungMounts(signal: AbortSignal): Promise<readonly string[]> {
  const places = placesAsked();
  const answers = await Promise.all(places.map(place => doesAnswer(place, signal)));
  return places.filter((_, at) => answers[at] === false);
}

function placesAsked(): readonly string[] {
  try {
    return mountsNow()
      .filter(mount => !hasOwnTimes(mount))
      .map(({ at }) => at);
  } catch {
    return []; // a system without /proc
  }
}

function doesAnswer(place: string, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const child = spawn('stat', ['-f', '--', place], { stdio: 'ignore', signal, killSignal: 'SIGKILL' });
  const timer = setTimeout(() => {
    child.kill('SIGKILL');
    child.unref();
    resolve(false);
  }, answerMs);
  for (const event of ['exit', 'error']) {
    child.on(event, () => {
      clearTimeout(timer);
      resolve(true);
    });
  }
  return promise;
}
