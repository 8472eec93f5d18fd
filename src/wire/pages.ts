/**
 * Pages of the web UI. The daemon uses them to recognize addresses of pages, and the app to find the page of
 * an address. The module has no dependencies, so that the browser can load it alone.
 *
 * Also the reasons why a sign-in or sign-out with a source failed, which the page /sign-in shows.
 */

/** Paths below the base URL; `{name}` is one percent-encoded segment. */
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
  /** Owner or thing that the page is about; null if there is only one. */
  readonly name: string | null;
}

/** Finds the page of an address's path, which begins with `/`; null if there is none. */
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

/** Returns the address of a page, relative to the base URL. */
export function addressOf(page: PageId, name?: string): string {
  const address = pages[page].slice(1).replace('{name}', () => encodeURIComponent(name ?? ''));
  return address === '' ? './' : address;
}

/**
 * Returns the requested page after a sign-in, relative to the base URL. Any other address leads to the first
 * page, so that a prepared link cannot lead to another site; and so does one that is too long.
 */
export function wayBack(asked: string | null, base: URL): string {
  const first = './';
  if (asked === null || !URL.canParse(asked, base.href)) return first;
  const url = new URL(asked, base);
  if (url.origin !== base.origin || !url.pathname.startsWith(base.pathname)) return first;
  const place = placeAt(url.pathname.slice(base.pathname.length - 1));
  if (place === null || place.page === 'signIn') return first;
  const back = `./${url.pathname.slice(base.pathname.length)}${url.search}`;
  return back.length > longestBack ? first : back;
}

/** The cookie of a sign-in holds the address, and browsers drop a cookie of more than 4096 bytes. */
const longestBack = 1000;

// The keys of `pages` are page ids.
const pageIds = Object.keys(pages) as readonly PageId[];

/** Returns the name in the path, null if the page has none, and undefined if it is another page. */
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

/**
 * Sentences that the page /sign-in shows for `?fault=CODE`. No text from outside is ever shown there; the log
 * has the details.
 */
export const signInFaults = {
  unknown_source: 'This way to sign in does not exist.',
  inactive_source: 'This way to sign in is switched off.',
  provider_away: 'The identity provider does not answer. Try again in a moment.',
  provider_refused: 'The identity provider did not sign you in.',
  not_started_here: 'This sign-in was started in another browser, or too long ago. Try again.',
  not_believed:
    'The answer of the identity provider could not be verified. An administrator can find details in the log.',
  misconfigured:
    'This way to sign in is not set up completely. An administrator can find details in the log.',
  nameless:
    'The identity provider does not send your user name. An administrator can find details in the log.',
  name_unusable:
    'Your user name at the identity provider is not possible on this server. Ask an administrator to link your account to a user.',
  name_taken:
    'A user on this server already has your name. If that is you, ask an administrator to link your account to that user: the log shows how.',
  not_now: 'At the moment nobody can sign in. Try again soon.',
  still_signed_in: 'You are still signed in, because at the moment nobody can sign out. Try again soon.',
  still_signed_in_there:
    'You are signed out on this server, but still signed in at the identity provider. An administrator can find details in the log.',
} as const;

export type SignInFaultCode = keyof typeof signInFaults;
