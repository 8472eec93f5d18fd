/** `/lint` and `/simulate`: a policy looked at, the one in force or another. */

import { z } from 'zod';
import { renamedOwners } from '../../ledger/index.ts';
import { lintIn } from '../../policy/index.ts';
import { draftPolicy, policyFault, queryNumber, simulation } from '../../wire/index.ts';
import { administrators } from '../access.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { simulate } from '../simulate.ts';
import { mostPolicyBytes } from './policy.ts';

export function trialRoutes({ documents, ledger }: ApiServices): readonly Route[] {
  return [
    route({
      id: 'lintPolicy',
      path: '/admin/quota/lint',
      tag: 'policy',
      summary: 'Possible mistakes in the policy',
      description:
        'Subjects that no rule covers, rules that never decide, empty, unused or missing groups, and owners who may have been renamed on the disk.',
      answer: { status: 200, description: 'Findings', schema: z.array(policyFault).readonly() },
      handle: () => [...lintIn(documents.snapshot, ledger.settings), ...renamedOwners(ledger)],
    }),
    route({
      id: 'simulatePolicy',
      method: 'post',
      path: '/admin/quota/simulate',
      tag: 'policy',
      summary: 'Owners who would be newly refused or allowed with another policy',
      description: 'Decides as if `[quota] ENABLED` were true. Nothing is changed.',
      access: administrators.read,
      mostBytes: mostPolicyBytes,
      longBody: 'draftPolicy',
      query: z.strictObject({
        limit: queryNumber(1, 1000, 100).meta({
          description: 'How many refused and how many allowed owners are listed.',
        }),
      }),
      body: draftPolicy,
      faults: [409],
      answer: { status: 200, description: 'The differences', schema: simulation },
      handle: ({ query, body }) => simulate(ledger, body, query.limit),
    }),
  ];
}
