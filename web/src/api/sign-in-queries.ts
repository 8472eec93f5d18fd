/** Queries of the sign-in page, before anybody is signed in. */

import { queryOptions } from '@tanstack/preact-query';
import type { OfferedSource } from '../../../src/wire/index.ts';
import { ask } from './ask.ts';

export const sourcesQuery = queryOptions({
  queryKey: ['sign-in sources'],
  queryFn: ({ signal }) => ask<readonly OfferedSource[]>(['sign-in', 'sources'], { signal }),
});
