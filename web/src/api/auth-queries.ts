/** Queries and changes for the page of OAuth2 sources, and the sources that the sign-in page offers. */

import type { Event } from '../../../src/overview/event-shapes.ts';
import type {
  Link,
  OfferedSource,
  SavedSource,
  Source,
  SourceEdit,
  TriedSource,
  TriedSynchronization,
} from '../../../src/wire/index.ts';
import { ask } from './ask.ts';
import { pageOf, queryOf } from './client.ts';

const everyMs = 15_000;
export const auths = ['admin', 'auths'] as const;

export const authsQuery = queryOf<readonly Source[]>(auths, { everyMs });

/** Sources on the sign-in page; no user is needed. */
export const offeredSourcesQuery = queryOf<readonly OfferedSource[]>(['sign-in', 'sources'], {
  everyMs: null,
});

/** Creates a source if `id` is null, and edits one otherwise. Rejects as `ask` does. */
export function saveSource(id: number | null, fields: SourceEdit): Promise<SavedSource> {
  return id === null
    ? ask(auths, { method: 'POST', body: fields })
    : ask([...auths, String(id)], { method: 'PATCH', body: fields });
}

/** Shows the effect of claims, and changes nothing. */
export function trySource(tried: TriedSource): Promise<TriedSynchronization> {
  return ask([...auths, 'try'], { method: 'POST', body: tried });
}

/** Latest sign-ins; each event has the claimed groups without a mapping. */
export const signInsQuery = queryOf<readonly Event[]>(['admin', 'quota', 'events'], {
  query: { kind: 'sign-in', limit: 200 },
  everyMs,
});

export const linksOf = (source: number) => [...auths, String(source), 'links'];

export const linksQuery = (source: number, page: number, limit: number) =>
  pageOf<Link>(linksOf(source), { query: { page, limit }, everyMs });
