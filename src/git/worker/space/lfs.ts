/** Finds objects of git-lfs that belong to a repository, and that no version of any file names. */

import { realpathSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { beforeFollow, decodePath, encodePath, type StorageSettings } from '../../../layout/index.ts';
import type { SpaceReport } from '../../../wire/index.ts';
import { entryNames } from '../files.ts';
import { inLines, type RepositoryView } from './view.ts';

type LfsObjects = ReadonlyMap<string, number>;

/** A pointer is shorter. */
export const longestPointer = 1024;
const mostObjects = 200_000;
const mostNamed = 20;
const oidPattern = /^[0-9a-f]{64}$/;
const folderPattern = /^[0-9a-f]{2}$/;

/**
 * Lists the objects in stores, with their bytes; null if there are too many. They lie in a store or
 * its directory `objects`: directly by their ids, or in two levels of directories by their first digits,
 * where a name is the whole id (as in git-lfs) or the remaining digits (as in Gitea).
 */
export async function lfsObjects(stores: readonly string[], signal: AbortSignal): Promise<LfsObjects | null> {
  const found = new Map<string, number>();
  for await (const { folder, digits } of foldersOf(stores)) {
    signal.throwIfAborted();
    for (const name of await ownNames(folder)) {
      const oid = [digits + name, name].find(each => oidPattern.test(each));
      if (oid === undefined) continue;
      signal.throwIfAborted();
      const stats = await lstat(encodePath(`${folder}/${name}`)).catch(() => null);
      if (stats?.isFile() === true) found.set(oid, stats.size);
      if (found.size > mostObjects) return null;
    }
  }
  return found;
}

/** Yields the directories in which objects may lie, with the digits with which their ids begin. */
async function* foldersOf(
  stores: readonly string[],
): AsyncGenerator<{ readonly folder: string; readonly digits: string }> {
  for (const root of stores.flatMap(store => [store, `${store}/objects`])) {
    yield { folder: root, digits: '' };
    for (const first of await foldersIn(root))
      for (const second of await foldersIn(`${root}/${first}`))
        yield { folder: `${root}/${first}/${second}`, digits: first + second };
  }
}

/** Finds the objects that no pointer names. `possible`: ids of all objects that may be pointers. */
export async function unneededLfs(
  view: RepositoryView,
  objects: LfsObjects,
  possible: readonly string[],
): Promise<NonNullable<SpaceReport['lfs']>> {
  const unneeded = new Map(objects);
  await view.lines(
    [{ args: ['cat-file', '--buffer', '--batch'] }],
    line => {
      const [, oid] = /^oid sha256:([0-9a-f]{64})\r?$/.exec(line) ?? [];
      if (oid !== undefined) unneeded.delete(oid);
    },
    inLines(view.hasAlternates ? await shortBlobs(view, possible) : possible),
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

/** Returns those of these objects, also of alternates, that are blobs as short as a pointer. */
async function shortBlobs(view: RepositoryView, ids: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  let index = 0;
  // git prints one line for each object.
  await view.lines(
    [{ args: ['cat-file', '--buffer', '--batch-check=%(objecttype) %(objectsize)'] }],
    line => {
      const id = ids[index++];
      const [, size] = /^blob (\d+)$/.exec(line) ?? [];
      if (id !== undefined && size !== undefined && Number(size) < longestPointer) found.push(id);
    },
    inLines(ids),
  );
  return found;
}

async function foldersIn(path: string): Promise<readonly string[]> {
  return (await ownNames(path)).filter(name => folderPattern.test(name));
}

/** Lists the names in a directory; none for a link, which may lead to objects of others. */
async function ownNames(path: string): Promise<readonly string[]> {
  const stats = await lstat(encodePath(path)).catch(() => null);
  return stats?.isDirectory() === true ? entryNames(path).catch(() => []) : [];
}

/**
 * Returns the directories in which the LFS objects of the repository at a physical path lie: in the
 * repository, and by `[storage.lfs] PATH`. Only templates count that name an owner and a repository, so that
 * each store belongs to one repository alone.
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

/** Tells whether nothing varies in a template but one owner and one repository. */
function isOfOne(template: string): boolean {
  return (
    !template.split('/').includes('*') &&
    template.split('{owner}').length === 2 &&
    template.split('{repo}').length === 2
  );
}

/** Returns the owner and the repository of a path by a template; null if the template does not match. */
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

/** Resolves the links in the part of a template before its first placeholder. */
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
