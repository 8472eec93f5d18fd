/** Addresses of the app: pages by their paths below the base URL, and links that do not reload the page. */

import { navigate as push, usePathname, useSearch } from 'wouter-preact/use-browser-location';
import { addressOf, type PageId, type Place, placeAt } from '../../src/wire/pages.ts';

/** Pages that are not only for administrators. */
export const forEverybody: ReadonlySet<PageId> = new Set([
  'mine',
  'myTokens',
  'organization',
  'requests',
  'help',
  'space',
  'signIn',
]);

/** Returns the address of a page for `href`. Undefined and empty values of `query` are left out. */
export function to(
  page: PageId,
  name?: string,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([key, value]) =>
      value === undefined || value === '' ? [] : [[key, value]],
    ),
  );
  return search.size === 0 ? addressOf(page, name) : `${addressOf(page, name)}?${search}`;
}

/** Navigates to an address. With `replace` the current page is not kept in the history of the browser. */
export function go(address: string, { replace = false } = {}): void {
  push(new URL(address, document.baseURI).href, { replace });
  if (!replace) window.scrollTo(0, 0);
}

/** Returns the current page; null if the address is none. */
export function usePlace(): Place | null {
  return placeOf(usePathname());
}

/**
 * Returns the query of the address and a function that changes it. State in the address can be shared and
 * revisited.
 */
export function useQueryPart(): readonly [
  URLSearchParams,
  (changes: Readonly<Record<string, string>>) => void,
] {
  const now = new URLSearchParams(useSearch());
  const change = (changes: Readonly<Record<string, string>>) => {
    const next = new URLSearchParams(window.location.search);
    for (const [key, value] of Object.entries(changes)) {
      if (value === '') next.delete(key);
      else next.set(key, value);
    }
    const search = next.size === 0 ? '' : `?${next}`;
    push(`${window.location.pathname}${search}`, { replace: true });
  };
  return [now, change];
}

/** Handles plain clicks on links to pages without a reload. Returns a function that stops this. */
export function followLinks(): () => void {
  const follow = (event: MouseEvent) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (link.target !== '' || link.hasAttribute('download')) return;
    const url = new URL(link.href);
    if (url.origin !== window.location.origin || placeOf(url.pathname) === null) return;
    // For a fragment of the same page, the browser scrolls by itself.
    if (url.hash !== '' && url.pathname === window.location.pathname) return;
    event.preventDefault();
    if (url.href !== window.location.href) go(url.href);
  };
  document.addEventListener('click', follow);
  return () => document.removeEventListener('click', follow);
}

function placeOf(pathname: string): Place | null {
  const base = new URL(document.baseURI).pathname;
  return pathname.startsWith(base) ? placeAt(pathname.slice(base.length - 1)) : null;
}
