/**
 * A directory held open.
 *
 * All operations act in that very directory, even if somebody who owns a part of the path replaces it by a
 * link meanwhile: on Linux every name is reached through the open directory itself. A name that is a link is
 * never followed.
 */

import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import {
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  readlink,
  realpath,
  rename,
  rmdir,
  unlink,
} from 'node:fs/promises';
import { type BoundedFile, readBounded } from '../../bounded/index.ts';
import { SoftquotaError, systemCode } from '../../errors.ts';
import { beforeFollow, beforeLook, DiskHangs, decodePath, encodePath } from '../../layout/index.ts';
import { systemWords } from '../../system-words.ts';

/** The permissions of a new file or directory: permission bits, and, where the process may, the owner. */
interface Belonging {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

export class Folder {
  readonly path: string;
  readonly stats: Stats;
  readonly #handle: FileHandle;

  private constructor(path: string, handle: FileHandle, stats: Stats) {
    this.path = path;
    this.#handle = handle;
    this.stats = stats;
  }

  /** Opens a physical path; throws `conflict` if a part of it is a link. */
  static async open(path: string): Promise<Folder> {
    const folder = await Folder.openUnresolved(path);
    try {
      if (process.platform === 'linux') {
        const physical = decodePath(await readlink(folder.at('.'), { encoding: 'buffer' }));
        if (physical !== path) {
          throw new SoftquotaError('conflict', `${path} leads to ${physical}; expected a path without links`);
        }
      }
      return folder;
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  /** Opens a directory that is no link itself; the path to it may have links. */
  static openUnresolved(path: string): Promise<Folder> {
    return Folder.#openAt(encodePath(path), path);
  }

  /** Opens a path that may have links; null if nothing is there. */
  static async find(place: string): Promise<Folder | null> {
    const path = await physicalPath(place);
    return path === null ? null : Folder.open(path);
  }

  static async #openAt(at: string | Buffer, path: string): Promise<Folder> {
    beforeLook(path);
    const handle = await open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      return new Folder(path, handle, await handle.stat());
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Returns a path to `name` that stays valid if the directory is moved. */
  at(name: string): string | Buffer {
    if (process.platform !== 'linux') return encodePath(`${this.path}/${name}`);
    return name === '.' ? `/proc/self/fd/${this.#handle.fd}` : `/proc/self/fd/${this.#handle.fd}/${name}`;
  }

  /** Opens the directory of this name; null if nothing is there; throws `conflict` for anything else. */
  async directory(name: string): Promise<Folder | null> {
    const path = `${this.path}/${name}`;
    try {
      return await Folder.#openAt(this.at(name), path);
    } catch (error) {
      const code = systemCode(error);
      if (code === 'ENOENT') return null;
      // With O_DIRECTORY and O_NOFOLLOW, Linux returns ENOTDIR for a link, too.
      if (code !== 'ELOOP' && code !== 'ENOTDIR') throw error;
      const stats = await lstat(this.at(name));
      const what = stats.isSymbolicLink()
        ? 'a symbolic link, and nothing is written through a link'
        : 'not a directory';
      throw new SoftquotaError('conflict', `${path} is ${what}`, { cause: error });
    }
  }

  /** Reads the entry at `name`, and follows a link; only for inspection. */
  followed(name: string): BoundedFile {
    const entry = this.entry(name);
    if (entry.kind !== 'link') return entry;
    beforeFollow(`${this.path}/${name}`);
    return readBounded(this.at(name), { follow: true });
  }

  /** Returns the target of the link of this name, as written; null if there is no link. */
  async target(name: string): Promise<string | null> {
    if (this.entry(name).kind !== 'link') return null;
    return decodePath(await readlink(this.at(name), { encoding: 'buffer' }));
  }

  /** Opens the directory at a path below, and makes missing ones on the way. No part may be a link. */
  async directoryOrMade(path: string, belonging: Belonging): Promise<Folder> {
    const [name = '', ...below] = path.split('/');
    const folder = (await this.directory(name)) ?? (await this.#make(name, belonging));
    if (below.length === 0) return folder;
    await using between = folder;
    return await between.directoryOrMade(below.join('/'), belonging);
  }

  async #make(name: string, belonging: Belonging): Promise<Folder> {
    await mkdir(this.at(name), 0o700);
    await using made = await this.#existing(name);
    await give(made.#handle, belonging);
    await this.#sync();
    return await this.#existing(name); // with the stats it has by now
  }

  async #existing(name: string): Promise<Folder> {
    const folder = await this.directory(name);
    if (folder === null) throw new SoftquotaError('conflict', `${this.path}/${name} vanished meanwhile`);
    return folder;
  }

  /** Reads the entry at `name`; of a regular file, the beginning. */
  entry(name: string): BoundedFile {
    return readBounded(this.at(name));
  }

  /**
   * Replaces the content of `name` in one step: after a crash the file has all of the old bytes or all of the
   * new. With `seen`, throws ChangedMeanwhile unless that entry is still there.
   */
  async write(name: string, bytes: Uint8Array, belonging: Belonging, seen?: BoundedFile): Promise<void> {
    const temporary = `.softquota-${randomBytes(8).toString('hex')}`;
    await this.#create(temporary, bytes, belonging);
    let isInPlace = false;
    try {
      if (seen?.kind === 'absent' && (await this.#linkNew(temporary, name))) return;
      if (seen !== undefined && !isSame(seen, this.entry(name)))
        throw new ChangedMeanwhile(`${this.path}/${name}`);
      await rename(this.at(temporary), this.at(name));
      isInPlace = true;
    } finally {
      // After the rename, a file of this name may be another program's.
      if (!isInPlace) await unlink(this.at(temporary)).catch(() => {});
      await this.#sync();
    }
  }

  /** Links a file under a second, new name; returns false if the file system has no hard links. */
  async #linkNew(from: string, to: string): Promise<boolean> {
    try {
      await link(this.at(from), this.at(to));
      return true;
    } catch (error) {
      const code = systemCode(error);
      if (code === 'EEXIST') throw new ChangedMeanwhile(`${this.path}/${to}`, error);
      if (code !== null && withoutLinks.has(code)) return false;
      throw error;
    }
  }

  async #create(name: string, bytes: Uint8Array, belonging: Belonging): Promise<void> {
    const handle = await open(this.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      await handle.writeFile(bytes);
      await give(handle, belonging);
      await handle.sync();
    } catch (error) {
      await unlink(this.at(name)).catch(() => {});
      throw error;
    } finally {
      await handle.close();
    }
  }

  async move(from: string, target: Folder, to: string): Promise<void> {
    await rename(this.at(from), target.at(to));
    await this.#sync();
    await target.#sync();
  }

  async remove(name: string): Promise<void> {
    await unlink(this.at(name));
    await this.#sync();
  }

  async removeEmpty(name: string): Promise<void> {
    try {
      await rmdir(this.at(name));
    } catch (error) {
      const code = systemCode(error);
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error;
    }
  }

  #sync(): Promise<void> {
    return this.#handle.sync();
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

export function belongingOf({ mode, uid, gid }: Stats): Belonging {
  return { mode: mode & 0o7777, uid, gid };
}

/** Resolves links in a path. Rejects if nothing is there, or its disk does not answer. */
export async function realPath(path: string): Promise<string> {
  beforeFollow(path);
  return decodePath(await realpath(encodePath(path), { encoding: 'buffer' }));
}

/** Does as `realPath`; null if nothing is there. */
export async function physicalPath(path: string): Promise<string | null> {
  try {
    return await realPath(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Thrown if another program changed a file after it was inspected: our change was not made. */
export class ChangedMeanwhile extends SoftquotaError {
  constructor(path: string, cause?: unknown) {
    super('conflict', `another program changed ${path} meanwhile; run this again`, { cause });
  }
}

const withoutLinks: ReadonlySet<string> = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK']);

function isSame(before: BoundedFile, now: BoundedFile): boolean {
  if (before.kind !== 'file' || now.kind !== 'file') return before.kind === now.kind;
  const { ino, ctimeMs, size } = before.stats;
  return ino === now.stats.ino && ctimeMs === now.stats.ctimeMs && size === now.stats.size;
}

async function give(handle: FileHandle, { mode, uid, gid }: Belonging): Promise<void> {
  if (process.getuid?.() === 0) await handle.chown(uid, gid);
  await handle.chmod(mode);
}

export interface RepositoryFault {
  readonly repository: string;
  readonly fault: string;
}

/** Runs `act` in each repository. A fault in one is part of the result and does not stop the others. */
export async function inEach<Result extends { readonly repository: string }>(
  repositories: readonly string[],
  act: (repository: Folder, path: string) => Promise<Result>,
): Promise<readonly (Result | RepositoryFault)[]> {
  const results: (Result | RepositoryFault)[] = [];
  for (const path of repositories) {
    try {
      await using repository = await Folder.open(path);
      results.push(await act(repository, path));
    } catch (error) {
      results.push({ repository: path, fault: reasonOf(error) });
    }
  }
  return results;
}

/** Returns the words for an error of ours or of the system; throws any other error again. */
export function reasonOf(error: unknown): string {
  if (error instanceof SoftquotaError) return error.message;
  if (error instanceof DiskHangs) return 'the disk does not answer';
  const words = systemWords(error);
  if (words === null) throw error;
  return words;
}
