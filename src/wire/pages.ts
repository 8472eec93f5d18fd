/**
 * The pages of the web UI: which paths are pages, for the daemon that serves them, and which page a path is,
 * for the app in the browser. Without dependencies, so that it can be loaded there by itself.
 */

/** Paths below the base URL; `{name}` is one segment, percent-encoded. */
const pages = {
  overview: '/',
  mine: '/mine',
  myTokens: '/mine/tokens',
  organization: '/organizations/{name}',
  space: '/space/{name}',
  owners: '/owners',
  owner: '/owners/{name}',
  groups: '/groups',
  group: '/groups/{name}',
  rules: '/rules',
  rule: '/rules/{name}',
  policy: '/policy',
  tokens: '/tokens',
  requests: '/requests',
  repositories: '/repositories',
  scans: '/scans',
  events: '/events',
  notices: '/notices',
  hosts: '/hosts',
  auths: '/admin/auths',
  help: '/help',
  signIn: '/sign-in',
} as const;

export type PageId = keyof typeof pages;

export interface Place {
  readonly page: PageId;
  /** The owner or thing that the page is about; null where there is only one. */
  readonly name: string | null;
}

/** Finds the page at a path as an address has it, from its `/` on; null: no page. */
export function placeAt(path: string): Place | null {
  const [, ...asked] = path.split('/');
  for (const page of pageIds) {
    const [, ...segments] = pages[page].split('/');
    if (segments.length !== asked.length) continue;
    const name = nameIn(segments, asked);
    if (name !== undefined) return { page, name };
  }
  return null;
}

/** The address of a place, relative to the base URL. */
export function addressOf(page: PageId, name?: string): string {
  const address = pages[page].slice(1).replace('{name}', () => encodeURIComponent(name ?? ''));
  return address === '' ? './' : address;
}

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

// They are its own keys.
const pageIds = Object.keys(pages) as readonly PageId[];

/** Undefined: it is not this page. */
function nameIn(segments: readonly string[], asked: readonly string[]): string | null | undefined {
  let name: string | null = null;
  for (const [index, segment] of segments.entries()) {
    const there = asked[index] ?? '';
    if (segment === '{name}') {
      const decoded = decodedSegment(there);
      if (decoded === null || decoded === '') return undefined;
      name = decoded;
    } else if (segment !== there) return undefined;
  }
  return name;
}

function decodedSegment(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
