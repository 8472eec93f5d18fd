/** Where one goes once signed in. */

import { placeAt } from '../../../src/wire/pages.ts';

/**
 * The page that was asked for, below the base URL as `href` has it; the first page for what is none of ours,
 * so that no address that somebody was given leads elsewhere.
 */
export function wayBack(asked: string | null, base: URL): string {
  const first = './';
  if (asked === null || !URL.canParse(asked, base.href)) return first;
  const url = new URL(asked, base);
  if (url.origin !== base.origin || !url.pathname.startsWith(base.pathname)) return first;
  const place = placeAt(url.pathname.slice(base.pathname.length - 1));
  if (place === null || place.page === 'signIn') return first;
  return `./${url.pathname.slice(base.pathname.length)}${url.search}`;
}
