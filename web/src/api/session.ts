/** Session of the user who is signed in. */

import { queryOptions, useQuery } from '@tanstack/preact-query';
import type { Session } from '../../../src/wire/index.ts';
import { ask } from './ask.ts';
import { client, live } from './client.ts';
import { daemonVersion, storeAwaySince } from './connection.ts';
import { faultOf } from './fault.ts';

export type { Session };

const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }) => {
    const session = await ask<Session>(['session'], { signal });
    daemonVersion.set(session.version);
    storeAwaySince.set(session.store_away_since);
    return session;
  },
  refetchInterval: live(),
});

export function useSession() {
  return useQuery(sessionQuery, client);
}

/** With a token, or with the code of a link. Rejects as `ask` does. */
export async function signIn(
  credentials: { readonly token: string } | { readonly code: string },
): Promise<void> {
  const before = client.getQueryData(sessionQuery.queryKey);
  const session = await ask<Session>(['session'], { method: 'POST', body: credentials });
  // Nothing that another user was shown stays.
  if (before !== undefined && before.login !== session.login) client.clear();
  client.setQueryData(sessionQuery.queryKey, session);
}

/**
 * Leaves for where the session ends here and at the provider. What this page shows is somebody's: the
 * browser's way back does not bring it up again.
 */
export function signOutAt(href: string): void {
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) window.location.reload();
  });
  window.location.assign(new URL(href, document.baseURI).href);
}

/** Done as well where the session has ended already. Else rejects as `ask` does. */
export async function signOut(): Promise<void> {
  try {
    await ask(['session'], { method: 'DELETE' });
  } catch (error) {
    if (faultOf(error).is !== 'signed-out') throw error;
  }
  client.clear();
}
