/** What the sign-in page asks before anybody is signed in. */

import { queryOptions } from '@tanstack/preact-query';
import { ask } from './ask.ts';

/** A provider of identities. */
export interface OfferedSource {
  readonly id: string;
  readonly name: string;
  /** Where signing in begins, relative to the base URL. */
  readonly href: string;
}

export const sourcesQuery = queryOptions({
  queryKey: ['sign-in sources'],
  queryFn: ({ signal }) => ask<readonly OfferedSource[]>(['sign-in', 'sources'], { signal }),
});
