/** Requests as a browser sends them from a page of a world's daemon: cookies, and where they come from. */

import type { Answer, Person, World } from './world.ts';

type Headers = Readonly<Record<string, string>>;

/** Headers that a browser sends with a request from a page at this origin: over plain http, Origin alone. */
export function ourPage(world: World): Headers {
  return { Origin: world.url.origin };
}

/** Cookie that a browser sends after this answer. */
export function cookieOf({ headers }: Pick<Answer, 'headers'>): string {
  const [first = ''] = headers['set-cookie'] ?? [];
  return first.replace(/;.*/s, '');
}

/** Signs somebody in by a new token; gives the headers of what the pages ask from then on. */
export async function signedIn(world: World, name: Person | 'dave', token?: string): Promise<Headers> {
  const body = { token: token ?? (await world.newToken(name, ['all'])) };
  const answer = await world.must(201, 'POST', '/session', { as: 'nobody', headers: ourPage(world), body });
  return { ...ourPage(world), Cookie: cookieOf(answer) };
}
