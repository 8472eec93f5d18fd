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
interface ConfigFile {
  /** When the file was written, in milliseconds since 1970, if that was after it was read; else null. */
  writtenSince(): Promise<number | null>;
}

/** To be called when the file has just been read; null where there is none. */
export function justRead(path: string | null): ConfigFile {
  const read = statsOf(path);
  return {
    writtenSince: async () => {
      const now = path === null ? null : await stat(path, { bigint: true }).catch(() => null);
      return now === null || (read && identityOf(read) === identityOf(now)) ? null : Number(now.mtimeMs);
    },
  };
}

/** Null where it is gone or out of reach: the next one who reads it says so. */
function statsOf(path: string | null): Identity | null {
  try {
    return path === null ? null : statSync(path, { bigint: true });
  } catch {
    return null;
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
