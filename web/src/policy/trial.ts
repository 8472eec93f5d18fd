/** Trial of a policy: the daemon reports its effect before it is saved. Also the request that saves it. */

import { queryOptions } from '@tanstack/preact-query';
import type { DraftPolicy, NewWholePolicy, ReplacedPolicy, Simulation } from '../../../src/wire/index.ts';
import { ask } from '../api/ask.ts';

const namedOwners = 20;

/**
 * `version`: of the policy that the draft was made from, because a draft leaves out members that it does not
 * change; empty for a draft that only names a group to leave out.
 */
export const trialQuery = (draft: DraftPolicy, version: string) =>
  queryOptions({
    queryKey: ['trial', draft, version],
    queryFn: ({ signal }) =>
      ask<Simulation>(['admin', 'quota', 'simulate'], {
        method: 'POST',
        query: { limit: namedOwners },
        body: draft,
        signal,
      }),
  });

/** Saves the whole policy or nothing. `createUsers` creates unknown owners. Rejects as `ask` does. */
export function save(policy: NewWholePolicy, { createUsers = false } = {}): Promise<ReplacedPolicy> {
  return ask<ReplacedPolicy>(['admin', 'quota', 'policy'], {
    method: 'PUT',
    query: createUsers ? { create_users: true } : {},
    body: policy,
  });
}
