/**
 * Addresses of the app: pages by their paths below the base URL, and links between them that load nothing
 * again.
 */

import { navigate as push, usePathname, useSearch } from 'wouter-preact/use-browser-location';
import { addressOf, type PageId, type Place, placeAt } from '../../src/wire/pages.ts';

/** The address of a page, for `href`. What is undefined or empty of `query` is left out. */
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

/** Goes there as a link does; with `replace` the way back does not lead here. */
export function go(address: string, { replace = false } = {}): void {
  push(new URL(address, document.baseURI).href, { replace });
  if (!replace) window.scrollTo(0, 0);
}

/** Null: no page. */
export function usePlace(): Place | null {
  return placeOf(usePathname());
}

/** Query of the address. State is kept there so that it can be sent and come back to. */
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

/** Has plain clicks on links to pages lead there without loading again; gives what ends it. */
export function followLinks(): () => void {
  const follow = (event: MouseEvent) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (link.target !== '' || link.hasAttribute('download')) return;
    const url = new URL(link.href);
    if (url.origin !== window.location.origin || placeOf(url.pathname) === null) return;
    // Within a page the browser finds the place by itself.
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
