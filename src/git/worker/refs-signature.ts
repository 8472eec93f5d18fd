/** Tells cheaply whether refs may have changed: every change of a ref changes its directory. */

import { createHash } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import { systemCode } from '../../errors.ts';
import { coarsestTimeMs, encodePath } from '../../layout/index.ts';
import { directoryEntries, isThere } from './files.ts';

const files = ['HEAD', 'packed-refs', 'reftable/tables.list'];
/** Most directories that are read; a repository with more is measured after each push. */
const mostDirectories = 2000;

export interface RefsSignature {
  readonly text: string;
  /** An equal text later proves that no ref has changed: all was read, and nothing had just changed. */
  readonly isSure: boolean;
}

/** Returns null if the repository is gone, or cannot be read. */
export async function refsSignature(path: string): Promise<RefsSignature | null> {
  const hash = createHash('sha256');
  const settledNs = BigInt(Date.now() - coarsestTimeMs) * 1_000_000n;
  let isSure = true;
  const take = async (place: string): Promise<void> => {
    const { text, changedNs } = await statusOf(place);
    hash.update(text);
    isSure &&= changedNs < settledNs;
  };
  try {
    for (const name of files) await take(`${path}/${name}`);
    const waiting = [`${path}/refs`];
    for (let seen = 0; seen < mostDirectories; seen++) {
      const directory = waiting.pop();
      if (directory === undefined) break;
      await take(directory);
      for await (const { name, isDirectory } of directoryEntries(directory))
        if (isDirectory) waiting.push(`${directory}/${name}`);
    }
    if (!(await isThere(`${path}/refs`))) return null;
    return { text: hash.digest('base64'), isSure: isSure && waiting.length === 0 };
  } catch {
    return null;
  }
}

async function statusOf(path: string): Promise<{ readonly text: string; readonly changedNs: bigint }> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await lstat(encodePath(path), { bigint: true });
    const changedNs = mtimeNs > ctimeNs ? mtimeNs : ctimeNs;
    return { text: `${path} ${ino} ${size} ${mtimeNs} ${ctimeNs}\n`, changedNs };
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { text: `${path} -\n`, changedNs: 0n };
    throw error;
  }
}

export function mayDiffer(before: RefsSignature | null, now: RefsSignature): boolean {
  return before === null || before.text !== now.text || (!before.isSure && now.isSure);
}
