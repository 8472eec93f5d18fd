/**
 * What a token's scopes let it do.
 *
 * `all` gives everything, `read:AREA` and `write:AREA` an area (writing includes reading), and `public-only`
 * takes the area of administrators away again. Any other scope is taken, and gives nothing here.
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

/** What `wanted` gives and `held` does not, such as `write:admin`; null where there is nothing. */
export function givesBeyond(wanted: readonly string[], held: readonly string[]): string | null {
  for (const area of areas) {
    for (const access of ['read', 'write'] as const) {
      if (gives(wanted, access, area) && !gives(held, access, area)) return `${access}:${area}`;
    }
  }
  return null;
}
