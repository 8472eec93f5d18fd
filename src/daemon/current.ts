/** The configuration in force, and how it stands to the file that it was read from. */

import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Config } from '../config/index.ts';

/** Seen by every part of the daemon; replaced piece by piece when it reloads. */
export interface Current {
  config: Config;
  file: ConfigFile;
  /** `[section] KEY` of what was changed since the start and takes a restart. */
  restartKeys: readonly string[];
}

/** A file as it was when it was read. */
export class ConfigFile {
  readonly #path: string | null;
  readonly #identity: string | null;

  private constructor(path: string | null, identity: string | null) {
    this.#path = path;
    this.#identity = identity;
  }

  /** To be called when the file has just been read; null where there is none. */
  static justRead(path: string | null): ConfigFile {
    if (path === null) return new ConfigFile(null, null);
    try {
      return new ConfigFile(path, identityOf(statSync(path, { bigint: true })));
    } catch {
      return new ConfigFile(path, null);
    }
  }

  /** When the file was written, in milliseconds since 1970, if that was after it was read; else null. */
  async writtenSince(): Promise<number | null> {
    if (this.#path === null) return null;
    try {
      const stats = await stat(this.#path, { bigint: true });
      return identityOf(stats) === this.#identity ? null : Number(stats.mtimeMs);
    } catch {
      // It is gone or out of reach: whoever reads it next says so.
      return null;
    }
  }
}

interface Identity {
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
}

function identityOf({ ino, size, mtimeNs }: Identity): string {
  return `${ino} ${size} ${mtimeNs}`;
}
