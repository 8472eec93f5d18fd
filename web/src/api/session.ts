import { queryOptions, useQuery } from '@tanstack/preact-query';
import type { Session } from '../../../src/wire/index.ts';
import { ask } from './ask.ts';
import { client, live } from './client.ts';
import { daemonVersion, storeAwaySince } from './connection.ts';
import { faultOf } from './fault.ts';

export type { Session };

const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ queryKey, signal }) => {
    const session = await ask<Session>(['session'], { signal });
    forgetUnlessOf(session, client.getQueryData<Session>(queryKey));
    daemonVersion.set(session.version);
    storeAwaySince.set(session.store_away_since);
    return session;
  },
  refetchInterval: live(),
});

/** Removes what another user saw from the cache. */
function forgetUnlessOf({ login }: Session, before: Session | undefined): void {
  if (before === undefined || before.login === login) return;
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
}

export function useSession() {
  return useQuery(sessionQuery, client);
}

/** Signs in with a token or the code of a link. Rejects as `ask` does. */
export async function signIn(
  credentials: { readonly token: string } | { readonly code: string },
): Promise<void> {
  const before = client.getQueryData(sessionQuery.queryKey);
  const session = await ask<Session>(['session'], { method: 'POST', body: credentials });
  forgetUnlessOf(session, before);
  client.setQueryData(sessionQuery.queryKey, session);
}

/**
 * Leaves the page for an address that ends the session here and at the provider. If the browser later shows
 * this page from its history, it is loaded anew, because it contains personal data.
 */
export function signOutAt(href: string): void {
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) window.location.reload();
  });
  window.location.assign(new URL(href, document.baseURI).href);
}

/** Signs out. Succeeds also if the session has ended already; otherwise rejects as `ask` does. */
export async function signOut(): Promise<void> {
  try {
    await ask(['session'], { method: 'DELETE' });
  } catch (error) {
    if (faultOf(error).is !== 'signed-out') throw error;
  }
  client.clear();
}
