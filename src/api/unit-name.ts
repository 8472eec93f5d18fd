/**
 * The name of a unit where its owner reads it: where the server keeps things is nobody's business there.
 */

import { posix } from 'node:path';

/**
 * The part of a walked unit's path that varies: below the directory that its template begins with, one of
 * `roots`.
 */
export function unitName(
  { kind, name }: { readonly kind: 'walked' | 'reported'; readonly name: string },
  roots: readonly string[],
): string {
  if (kind === 'reported') return name;
  const below = roots
    .map(root => (root === '/' ? root : `${root}/`))
    .filter(root => name.startsWith(root) && name.length > root.length)
    .map(root => name.slice(root.length))
    .sort((a, b) => a.length - b.length);
  // A template without anything that varies, or another host's, which may have others.
  return below[0] ?? posix.basename(name);
}
