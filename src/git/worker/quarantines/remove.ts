/**
 * Removes a quarantine that nothing can own.
 *
 * It is renamed first: a push that goes on against all expectation fails then, and nothing is broken; one
 * whose quarantine was only half there made a commit without its tree. Each directory is opened without
 * following a link, and everything below it is named by that descriptor, so that nobody can put another place
 * there.
 */

import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { encodePath, isQuarantineName } from '../../../layout/index.ts';
import { isShared } from '../space/repository-config.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const gone = 'tmp_objdir-gone-';
/** objects/QUARANTINE/pack is one level; nothing of git's is deeper than two. */
const mostDepth = 8;

/** Tells whether this was renamed by a worker, and is not removed yet. */
export function isGoneName(name: string): boolean {
  return name.startsWith(gone);
}

/** The `objects` of a repository, opened: what is named by it is there and nowhere else. */
export class ObjectsDirectory {
  readonly #handle: FileHandle;
  readonly #stats: Stats;
  /** Several users write there. */
  readonly #isShared: boolean;

  private constructor(handle: FileHandle, stats: Stats, hasManyWriters: boolean) {
    this.#handle = handle;
    this.#stats = stats;
    this.#isShared = hasManyWriters;
  }

  /** Opens those of a repository. Rejects with the system's error. */
  static async open(repository: string): Promise<ObjectsDirectory> {
    const handle = await openDirectory(encodePath(`${repository}/objects`));
    try {
      return new ObjectsDirectory(handle, await handle.stat(), isShared(repository));
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** The status of a quarantine; null where it is gone, or none that may be touched. */
  async quarantine(name: string): Promise<Stats | null> {
    const stats = await lstat(this.#path(name)).catch(() => null);
    if (stats?.isDirectory() !== true || stats.dev !== this.#stats.dev) return null;
    const isOurs = stats.uid === this.#stats.uid || stats.uid === process.geteuid?.();
    return isOurs || this.#isShared ? stats : null;
  }

  /** Renames a quarantine, and removes it; one that was renamed before is only removed. */
  async remove(name: string): Promise<void> {
    if ((await this.quarantine(name)) === null) return;
    const renamed = isGoneName(name) ? name : gone + name.slice(-6);
    if (isQuarantineName(name)) await rename(this.#path(name), this.#path(renamed));
    await removeTree(this.#path(renamed), mostDepth);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#handle.close();
  }

  #path(name: string): Buffer {
    return below(this.#handle, Buffer.from(name));
  }
}

async function removeTree(path: Buffer, depth: number): Promise<void> {
  if (depth === 0) return;
  {
    await using handle = await openDirectory(path);
    for (const entry of await readdir(below(handle), { withFileTypes: true, encoding: 'buffer' })) {
      const file = below(handle, entry.name);
      if (entry.isDirectory()) await removeTree(file, depth - 1);
      else await unlink(file);
    }
  }
  await rmdir(path);
}

function openDirectory(path: string | Buffer): Promise<FileHandle> {
  return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

function below({ fd }: FileHandle, name?: Buffer): Buffer {
  const place = Buffer.from(`/proc/self/fd/${fd}`);
  return name === undefined ? place : Buffer.concat([place, Buffer.from('/'), name]);
}
