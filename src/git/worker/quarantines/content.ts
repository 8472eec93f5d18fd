/** Measures a quarantine, and finds the time of its last write. */

import { lstat } from 'node:fs/promises';
import { encodePath } from '../../../layout/index.ts';
import { entryNames } from '../files.ts';

interface QuarantineContent {
  /** Regular files. */
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly writtenAt: number;
}

const mostDepth = 8;

/** A file that goes meanwhile counts nothing. */
export async function contentOf(path: string, depth = mostDepth): Promise<QuarantineContent> {
  const stats = await lstat(encodePath(path)).catch(() => null);
  if (stats === null) return { bytes: 0, writtenAt: 0 };
  if (!stats.isDirectory() || depth === 0)
    return { bytes: stats.isFile() ? stats.size : 0, writtenAt: stats.mtimeMs };
  let bytes = 0;
  let writtenAt = stats.mtimeMs;
  for (const name of await entryNames(path).catch(() => [])) {
    const found = await contentOf(`${path}/${name}`, depth - 1);
    bytes += found.bytes;
    writtenAt = Math.max(writtenAt, found.writtenAt);
  }
  return { bytes, writtenAt };
}
