/** Queries and changes of the page of OAuth2 sources. */

import { queryOptions } from '@tanstack/preact-query';
import type { Event } from '../../../src/overview/event-shapes.ts';
import type {
  Link,
  SavedSource,
  Source,
  SourceEdit,
  TriedSource,
  TriedSynchronization,
} from '../../../src/wire/index.ts';
import { ask } from './ask.ts';
import { live } from './client.ts';

const seldomMs = 15_000;

export const authsQuery = queryOptions({
  queryKey: ['auths'],
  queryFn: ({ signal }) => ask<readonly Source[]>(['admin', 'auths'], { signal }),
  refetchInterval: live(seldomMs),
});

/** `id`: null for a new one. Rejects as `ask` does. */
export function saveSource(id: number | null, fields: SourceEdit): Promise<SavedSource> {
  return id === null
    ? ask(['admin', 'auths'], { method: 'POST', body: fields })
    : ask(['admin', 'auths', String(id)], { method: 'PATCH', body: fields });
}

export function deleteSource(id: number): Promise<void> {
  return ask(['admin', 'auths', String(id)], { method: 'DELETE' });
}

/** Changes nothing. */
export function trySource(tried: TriedSource): Promise<TriedSynchronization> {
  return ask(['admin', 'auths', 'try'], { method: 'POST', body: tried });
}

export const linksQuery = (source: number) =>
  queryOptions({
    queryKey: ['links', source],
    queryFn: ({ signal }) => ask<readonly Link[]>(['admin', 'auths', String(source), 'links'], { signal }),
    refetchInterval: live(seldomMs),
  });

/** The most of the latest sign-ins that are shown. */
const latestSignIns = 200;

/** The latest sign-ins, of which each tells what was claimed without a mapping. */
export const signInsQuery = queryOptions({
  queryKey: ['latest sign-ins'],
  queryFn: ({ signal }) =>
    ask<readonly Event[]>(['admin', 'quota', 'events'], {
      query: { kind: 'sign-in', limit: latestSignIns },
      signal,
    }),
  refetchInterval: live(seldomMs),
});

export function linkUser(source: number, user: string, subject: string): Promise<void> {
  return ask(['admin', 'auths', String(source), 'links', user], { method: 'PUT', body: { subject } });
}

export function unlinkUser(source: number, user: string): Promise<void> {
  return ask(['admin', 'auths', String(source), 'links', user], { method: 'DELETE' });
}
