/** Objects of git-lfs that are a repository's, and that no version of any file names. */

import { realpathSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { beforeFollow, decodePath, encodePath, type StorageSettings } from '../../../layout/index.ts';
import type { SpaceReport } from '../../../wire/index.ts';
import { entryNames } from '../files.ts';
import type { RepositoryView } from './view.ts';

type LfsObjects = ReadonlyMap<string, number>;

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
    for (const name of await ownNames(folder)) {
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
): Promise<NonNullable<SpaceReport['lfs']>> {
  const unneeded = new Map(objects);
  const input = shortBlobs.map(name => `${name}\n`).join('');
  await view.lines(
    [{ args: ['cat-file', '--buffer', '--batch'] }],
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
  return (await ownNames(path)).filter(name => folderPattern.test(name));
}

/** A link leads to the objects of others. */
async function ownNames(path: string): Promise<readonly string[]> {
  const stats = await lstat(encodePath(path)).catch(() => null);
  return stats?.isDirectory() === true ? entryNames(path).catch(() => []) : [];
}

/**
 * The directories in which the LFS objects of the repository at a physical path lie: in itself, or where
 * `[storage.lfs]` has them. Of `[storage.lfs] PATH` those templates count that name an
 * owner and a repository, so that a store is of one repository alone.
 */
export function lfsStores(path: string, storages: readonly StorageSettings[]): readonly string[] {
  const templates = (kind: StorageSettings['kind']): readonly string[] =>
    storages.filter(one => one.kind === kind).flatMap(one => one.templates);
  const beside = templates('repos').flatMap(template => {
    const names = namesIn(path, template);
    if (names === null) return [];
    return templates('lfs')
      .filter(isOfOne)
      .map(each => physical(each).replaceAll(/\{(?:owner|repo)\}/g, place => names[place] ?? place));
  });
  return [...new Set([`${path}/lfs`, ...beside])];
}

/** A template in which nothing varies but one owner and one repository. */
function isOfOne(template: string): boolean {
  return (
    !template.split('/').includes('*') &&
    template.split('{owner}').length === 2 &&
    template.split('{repo}').length === 2
  );
}

/** The owner and the repository of a path by a template; null: it is not of this template. */
function namesIn(path: string, template: string): Readonly<Record<string, string>> | null {
  if (!isOfOne(template)) return null;
  const [before = '', rest = ''] = physical(template).split('{owner}');
  const [between = '', after = ''] = rest.split('{repo}');
  if (!path.startsWith(before) || !path.endsWith(after)) return null;
  const middle = path.slice(before.length, path.length - after.length);
  const at = middle.indexOf(between === '' ? '/' : between);
  const [owner, repo] = [middle.slice(0, at), middle.slice(at + between.length)];
  return at <= 0 || owner.includes('/') || repo === '' ? null : { '{owner}': owner, '{repo}': repo };
}

/** A template as paths of repositories are: its directory before the first name without links. */
function physical(template: string): string {
  const at = template.lastIndexOf('/', template.indexOf('{'));
  const fixed = template.slice(0, at) || '/';
  try {
    beforeFollow(fixed);
    const real = decodePath(realpathSync(encodePath(fixed), { encoding: 'buffer' }));
    return (real === '/' ? '' : real) + template.slice(at);
  } catch {
    return template; // not there
  }
}
