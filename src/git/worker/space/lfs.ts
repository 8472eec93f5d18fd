/** Objects of git-lfs that are a repository's, and that no version of any file names. */

import { lstat } from 'node:fs/promises';
import { encodePath } from '../../../layout/index.ts';
import type { SpaceReport } from '../../../wire/index.ts';
import { entryNames } from '../files.ts';
import type { RepositoryView, RunLimits } from './view.ts';

/** The bytes of objects by their ids. */
export type LfsObjects = ReadonlyMap<string, number>;

const mostObjects = 200_000;
const mostNamed = 20;
const oidPattern = /^[0-9a-f]{64}$/;
const folderPattern = /^[0-9a-f]{2}$/;

/**
 * The objects in stores, by their ids; null: there is no store, or they are too large to go through. A store
 * has them, or a directory `objects` in it has: by their ids, in two levels of directories by the first
 * digits (as git-lfs does it), or there by the digits that remain (as Gitea does it).
 */
export async function lfsObjects(stores: readonly string[], signal: AbortSignal): Promise<LfsObjects | null> {
  const found = new Map<string, number>();
  const take = async (folder: string, digits: string): Promise<void> => {
    for (const name of await entryNames(folder).catch(() => [])) {
      const oid = [digits + name, name].find(each => oidPattern.test(each));
      if (oid === undefined) continue;
      signal.throwIfAborted();
      const stats = await lstat(encodePath(`${folder}/${name}`)).catch(() => null);
      if (stats?.isFile() === true) found.set(oid, stats.size);
      if (found.size > mostObjects) return;
    }
  };
  for (const store of stores)
    for (const root of [store, `${store}/objects`]) {
      await take(root, '');
      for (const first of await foldersIn(root))
        for (const second of await foldersIn(`${root}/${first}`)) {
          signal.throwIfAborted();
          await take(`${root}/${first}/${second}`, first + second);
          if (found.size > mostObjects) return null;
        }
    }
  return found.size === 0 ? null : found;
}

/** `shortBlobs` are all blobs that can be pointers. */
export async function unneededLfs(
  view: RepositoryView,
  objects: LfsObjects,
  shortBlobs: readonly string[],
  limits: RunLimits,
): Promise<NonNullable<SpaceReport['lfs']>> {
  const unneeded = new Map(objects);
  const input = shortBlobs.map(name => `${name}\n`).join('');
  await view.lines(
    [{ args: ['cat-file', '--buffer', '--batch'] }],
    limits,
    line => {
      const [, oid] = /^oid sha256:([0-9a-f]{64})\r?$/.exec(line) ?? [];
      if (oid !== undefined) unneeded.delete(oid);
    },
    input,
  );
  const largest = [...unneeded]
    .map(([oid, bytes]) => ({ oid, bytes }))
    .sort((a, b) => b.bytes - a.bytes || (a.oid < b.oid ? -1 : 1));
  return {
    count: largest.length,
    bytes: largest.reduce((sum, { bytes }) => sum + bytes, 0),
    largest: largest.slice(0, mostNamed),
  };
}

async function foldersIn(path: string): Promise<readonly string[]> {
  return (await entryNames(path).catch(() => [])).filter(name => folderPattern.test(name));
}
