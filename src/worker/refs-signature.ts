/**
 * Tells cheaply whether refs of a repository may have changed: every change of a ref changes its directory.
 */

import { createHash } from 'node:crypto';
import { lstat, readdir } from 'node:fs/promises';
import { systemCode } from '../errors.ts';
import { encodePath } from '../layout/index.ts';

const files = ['HEAD', 'packed-refs', 'reftable/tables.list'];
/** The most refs that are looked at; a repository with more is measured after pushes all the same. */
const mostDirectories = 2000;

/** Null: the repository is gone, or cannot be read. */
export async function refsSignature(path: string): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    for (const name of files) hash.update(await statusOf(`${path}/${name}`));
    const waiting = [`${path}/refs`];
    for (let seen = 0; seen < mostDirectories; seen++) {
      const directory = waiting.pop();
      if (directory === undefined) break;
      hash.update(await statusOf(directory));
      for (const entry of await readdir(encodePath(directory), { withFileTypes: true, encoding: 'latin1' }))
        if (entry.isDirectory()) waiting.push(`${directory}/${entry.name}`);
    }
    return hash.digest('base64');
  } catch {
    return null;
  }
}

async function statusOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await lstat(encodePath(path), { bigint: true });
    return `${path} ${ino} ${size} ${mtimeNs} ${ctimeNs}\n`;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return `${path} -\n`;
    throw error;
  }
}
