/** Names of units as people read them. */

import { posix } from 'node:path';
import type { KnownPlace } from './forge/visibility.ts';

/**
 * The name by which its forge knows a walked unit; else the part of its path that varies: below its
 * template's first directory, one of `roots`.
 */
export function unitName(
  { kind, name }: { readonly kind: 'walked' | 'reported'; readonly name: string },
  roots: readonly string[],
  placed: KnownPlace | null,
): string {
  if (kind === 'reported') return name;
  if (placed !== null && placed.title !== null) return placed.title;
  const below = roots
    .map(root => (root === '/' ? root : `${root}/`))
    .filter(root => name.startsWith(root) && name.length > root.length)
    .map(root => name.slice(root.length))
    .sort((a, b) => a.length - b.length);
  // A template without anything that varies, or another host's, which may have others.
  return below[0] ?? posix.basename(name);
}
