/** `/admin/quota/policy`, `/lint`, `/simulate`: the policy as one document, and the check of a draft. */

import { z } from 'zod';
import type { Transaction } from '../../documents/index.ts';
import { renamedOwners } from '../../ledger/index.ts';
import { lintIn } from '../../policy/index.ts';
import * as wire from '../../wire/index.ts';
import { administrators } from '../asker.ts';
import { getRoute, postRoute, putRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { simulate } from '../simulate.ts';
import { replaceWholePolicy, wholePolicyOf } from '../whole-policy.ts';

/**
 * Enough for several hundred thousand owners. Only a caller who may write the policy can send so many bytes.
 */
const mostPolicyBytes = 16 * 1024 * 1024;

const path = '/admin/quota/policy';
const flag = z
  .enum(['true', 'false'], { error: 'expected true or false' })
  .transform(said => said === 'true');

export function policyRoutes({ documents, ledger, autoCreate }: ApiServices): readonly Route[] {
  return [
    getRoute('getPolicy', path, {
      summary: 'All rules, groups and memberships',
      description:
        'The answer is long if many owners are in groups: to ask again, send the `ETag` of the last answer.',
      answer: {
        status: 200,
        description: 'The policy in force',
        schema: wire.wholePolicy,
        version: ({ version }) => version,
      },
      handle: () => wholePolicyOf(ledger),
    }),
    putRoute('replacePolicy', path, {
      summary: 'Replace the policy in force',
      description:
        'Either the whole policy comes into force or nothing. The body can have up to 16 MiB. With the `version` of a policy, ' +
        'the request is refused if somebody has changed that policy meanwhile.',
      mostBytes: mostPolicyBytes,
      longBody: 'newWholePolicy',
      query: z.strictObject({
        dry_run: flag
          .default(false)
          .meta({ description: 'Only answer with the result, and change nothing.' }),
        create_users: flag.optional().meta({
          description: 'Create unknown users; default: `[users] AUTO_CREATE`.',
        }),
      }),
      body: wire.newWholePolicy,
      faults: [404, 409],
      answer: { status: 200, description: 'The policy as it is now', schema: wire.replacedPolicy },
      handle: async ({ query, body }, { caller }) => {
        const createUsers = query.create_users ?? autoCreate;
        const replace = (transaction: Transaction) =>
          replaceWholePolicy(ledger, transaction, body, createUsers);
        // The dry run finds faults without delaying other transactions.
        const drafted = await documents.dryRunInSlices(replace);
        return query.dry_run ? drafted : documents.transactInSlices(replace, caller);
      },
    }),
    getRoute('lintPolicy', '/admin/quota/lint', {
      summary: 'Possible mistakes in the policy',
      description:
        'Subjects that no rule covers, rules that never decide, empty, unused or missing groups, and owners who may have been renamed on the disk.',
      answer: { status: 200, description: 'Findings', schema: z.array(wire.policyFault).readonly() },
      handle: () => [...lintIn(documents.snapshot, ledger.settings), ...renamedOwners(ledger)],
    }),
    postRoute('simulatePolicy', '/admin/quota/simulate', {
      summary: 'Owners who would be newly refused or allowed with another policy',
      description: 'Decides as if `[quota] ENABLED` were true. Nothing is changed.',
      access: administrators.read,
      mostBytes: mostPolicyBytes,
      longBody: 'draftPolicy',
      query: z.strictObject({
        limit: wire.queryNumber(1, 1000, 100).meta({
          description: 'How many refused and how many allowed owners are listed.',
        }),
      }),
      body: wire.draftPolicy,
      faults: [404, 409],
      answer: { status: 200, description: 'The differences', schema: wire.simulation },
      handle: ({ query, body }) => simulate(ledger, body, query.limit),
    }),
  ];
}
