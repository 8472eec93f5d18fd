/**
 * The directories in which the LFS objects of a repository lie: in itself, or where `[storage.lfs]` has
 * them.
 */

import { realpathSync } from 'node:fs';
import { beforeFollow, decodePath, encodePath, type StorageSettings } from '../../../layout/index.ts';

/**
 * The stores of the repository at a physical path. Of `[storage.lfs] PATH` those templates count that name an
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

/**
 * A template as the paths of the repositories are: its directory before the first name followed through
 * links.
 */
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
