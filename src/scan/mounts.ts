/** Finds the file system of a path in the system's list of mounts, without asking the disk. */

import { readFile } from 'node:fs/promises';
import {
  decodePath,
  hasOwnTimes,
  isOfNetwork,
  type MountTable,
  mountsIn,
  mountTable,
  sourceOf,
} from '../layout/index.ts';

export class Mounts {
  #table: MountTable = mountTable([]);

  /** Reads the list again. Never rejects; where the list cannot be read, the one before stays. */
  async refresh(): Promise<void> {
    try {
      this.#table = mountTable(mountsIn(decodePath(await readFile('/proc/self/mountinfo'))));
    } catch {
      // Not Linux, or no /proc: all paths are on one file system then.
    }
  }

  /** The numbers of the device; one file system may be mounted at several places. */
  deviceOf(path: string): string {
    return this.#table(path)?.device ?? '';
  }

  /** Tells whether this system itself gives the times of changes there, and no other host or program. */
  isLocal(path: string): boolean {
    const mount = this.#table(path);
    return mount !== null && hasOwnTimes(mount);
  }

  /** Names a directory as all hosts do that mount its file system; null where mounts are not known. */
  sourceOf(path: string): { readonly source: string; readonly isOfNetwork: boolean } | null {
    const mount = this.#table(path);
    return mount === null ? null : { source: sourceOf(mount, path), isOfNetwork: isOfNetwork(mount) };
  }

  /** The directory at which its file system is mounted. */
  placeOf(path: string): string {
    return this.#table(path)?.at ?? '/';
  }
}
