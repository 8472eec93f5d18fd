/** Names of units as people read them. */

import { posix } from 'node:path';
import type { KnownPlace } from './forge/visibility.ts';

/**
 * Returns the name that the forge has for a walked unit; without one, the part of its path below the fixed
 * directory of its template, which is one of `roots`.
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
  // No root is above it: its template has no variable part, or another host has other templates.
  return below[0] ?? posix.basename(name);
}
