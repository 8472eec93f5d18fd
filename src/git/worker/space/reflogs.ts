/** A copy of a repository's reflogs: git follows no link to a directory of them. */

import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { readBounded } from '../../../bounded/index.ts';
import { systemCode } from '../../../errors.ts';
import { decodePath, encodePath } from '../../../layout/index.ts';
import { UnusableRepository } from './repository-config.ts';

const mostFiles = 100_000;
const mostBytes = 64 * 1024 * 1024;
const mostDepth = 60;

/**
 * Returns whether there are any. Rejects with a `UnusableRepository` where they are too many or too long to
 * be copied.
 */
export async function copyReflogs(from: string, to: string): Promise<boolean> {
  const left = { files: mostFiles, bytes: mostBytes };
  await copy(from, to, left, mostDepth);
  return left.files < mostFiles;
}

async function copy(
  from: string,
  to: string,
  left: { files: number; bytes: number },
  depth: number,
): Promise<void> {
  const entries = await entriesOf(from);
  if (entries.length > 0) await mkdir(encodePath(to), { recursive: true });
  for (const entry of entries) {
    left.files -= 1;
    if (left.files < 0 || depth === 0)
      throw new UnusableRepository('its reflogs are too many; git reflog expire makes them fewer');
    const name = decodePath(entry.name);
    if (entry.isDirectory()) await copy(`${from}/${name}`, `${to}/${name}`, left, depth - 1);
    if (!entry.isFile()) continue;
    const file = readBounded(encodePath(`${from}/${name}`), { mostBytes: left.bytes });
    if (file.kind !== 'file') continue;
    if (!file.whole)
      throw new UnusableRepository('its reflogs are too long; git reflog expire makes them shorter');
    left.bytes -= file.bytes.length;
    await writeFile(encodePath(`${to}/${name}`), file.bytes);
  }
}

async function entriesOf(path: string) {
  try {
    return await readdir(encodePath(path), { withFileTypes: true, encoding: 'buffer' });
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}
