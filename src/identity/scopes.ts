/**
 * The permissions that the scopes of a token give.
 *
 * `all` gives everything, `read:AREA` and `write:AREA` an area (writing includes reading), and `public-only`
 * removes the area of administrators. Any other scope is accepted, and has no effect here.
 */

export const areas = ['admin', 'user', 'organization'] as const;

export type Area = (typeof areas)[number];

export type AccessLevel = 'read' | 'write';

export function gives(scopes: readonly string[], access: AccessLevel, area: Area): boolean {
  if (area === 'admin' && scopes.includes('public-only')) return false;
  return (
    scopes.includes('all') ||
    scopes.includes(`write:${area}`) ||
    (access === 'read' && scopes.includes(`read:${area}`))
  );
}

/** Returns a scope that `wanted` has and `held` does not, such as `write:admin`; null if there is none. */
export function givesBeyond(wanted: readonly string[], held: readonly string[]): string | null {
  for (const area of areas) {
    for (const access of ['read', 'write'] as const) {
      if (gives(wanted, access, area) && !gives(held, access, area)) return `${access}:${area}`;
    }
  }
  return null;
}
