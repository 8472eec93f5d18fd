/** Measures how much the objects of a repository take, and how much of that is reachable. */

import { lstat } from 'node:fs/promises';
import { encodePath } from '../../../layout/index.ts';
import { entryNames, isGone } from '../files.ts';
import type { RepositoryView } from './view.ts';

export interface Reachability {
  readonly stored: StoredObjects;
  /** Bytes of objects that refs, HEADs, reflogs or indexes reach, each once; without those of alternates. */
  readonly reachableBytes: number;
  /** All other bytes: of unreachable objects, and of second copies. */
  readonly unreachableBytes: number;
}

/** Arguments for all that git's own collection takes for reachable, hidden refs included. */
export const allTips = ['--all', '--reflog', '--indexed-objects'] as const;

/** Measures a repository. A push in the meantime makes the unreachable bytes fewer, never more. */
export async function measure(view: RepositoryView): Promise<Reachability> {
  const stored = await storedObjects(view.objects, view.limits.signal);
  const reachableBytes = await bytesOf(view, allTips);
  return { stored, reachableBytes, unreachableBytes: Math.max(0, stored.bytes - reachableBytes) };
}

/** Sums up the bytes on the disk of objects that these arguments of `git rev-list` reach. */
export async function bytesOf(view: RepositoryView, tips: readonly string[], input = ''): Promise<number> {
  if (view.hasAlternates) return (await objectsOf(view, tips, input)).bytes;
  const args = ['rev-list', '--objects', '--use-bitmap-index', '--disk-usage', ...tips];
  return Number((await view.git(args, input)).trim());
}

/** Does as `bytesOf`, and counts the objects. */
export async function objectsOf(
  view: RepositoryView,
  tips: readonly string[],
  input = '',
): Promise<{ readonly bytes: number; readonly objects: number }> {
  let bytes = 0;
  let objects = 0;
  await view.lines(
    [
      { args: ['rev-list', '--objects', '--no-object-names', '--use-bitmap-index', ...tips] },
      { args: ['cat-file', '--buffer', '--batch-check=%(objectsize:disk)'], isLocal: true },
    ],
    // For an object that only an alternate has, git prints that it is missing.
    line => {
      if (!/^\d+$/.test(line)) return;
      bytes += Number(line);
      objects += 1;
    },
    input,
  );
  return { bytes, objects };
}

interface StoredObjects {
  /** Packs and loose objects; an object that is there twice counts twice. */
  readonly bytes: number;
  readonly packs: number;
  readonly loose: number;
  /** Bytes of packs that a `.keep` file protects. */
  readonly keptBytes: number;
  /** Bytes of unfinished files that are older than an hour, so that nobody still writes them. */
  readonly leftoverBytes: number;
  /** A pack has a reverse index, which takes four bytes for each object. */
  readonly hasReverseIndex: boolean;
}

const leftoverMs = 3_600_000;
const packOverhead = 32;

/** Measures a directory of objects; a file that vanishes meanwhile counts nothing. */
export async function storedObjects(objects: string, signal: AbortSignal): Promise<StoredObjects> {
  const found = { bytes: 0, packs: 0, loose: 0, keptBytes: 0, leftoverBytes: 0, hasReverseIndex: false };
  const folders = (await entryNames(objects)).filter(name => /^[0-9a-f]{2}$/.test(name));
  const packed = new Set(await entryNames(`${objects}/pack`));
  for (const name of packed) {
    if (name.endsWith('.rev')) found.hasReverseIndex = true;
    const isPack = /^pack-[0-9a-f]+\.pack$/.test(name);
    const isUnfinished = /^\.?tmp_|^\.tmp-/.test(name);
    if (!isPack && !isUnfinished) continue;
    const { bytes, modifiedAt } = await sizeOf(`${objects}/pack/${name}`);
    if (isUnfinished) {
      if (Date.now() - modifiedAt > leftoverMs) found.leftoverBytes += bytes;
      continue;
    }
    const size = Math.max(0, bytes - packOverhead);
    found.bytes += size;
    found.packs += 1;
    if (packed.has(name.replace(/pack$/, 'keep'))) found.keptBytes += size;
  }
  for (const folder of folders) {
    signal.throwIfAborted();
    for (const name of await entryNames(`${objects}/${folder}`)) {
      if (!/^[0-9a-f]+$/.test(name)) continue;
      found.loose += 1;
      found.bytes += (await sizeOf(`${objects}/${folder}/${name}`)).bytes;
    }
  }
  return found;
}

async function sizeOf(path: string): Promise<{ readonly bytes: number; readonly modifiedAt: number }> {
  try {
    const stats = await lstat(encodePath(path));
    return { bytes: stats.isFile() ? stats.size : 0, modifiedAt: stats.mtimeMs };
  } catch (error) {
    if (isGone(error)) return { bytes: 0, modifiedAt: 0 };
    throw error;
  }
}
