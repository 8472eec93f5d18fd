/** `/admin/quota/policy`: all rules and groups, and who is in which, as one document. */

import { z } from 'zod';
import type { Transaction } from '../../documents/index.ts';
import { newWholePolicy, replacedPolicy, wholePolicy } from '../../wire/index.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { mustBeSound } from '../sound-policy.ts';
import { mustBeForThis, replaceWholePolicy, wholePolicyOf } from '../whole-policy.ts';

/** Room for some hundred thousand owners; who may not rule is refused before a byte of it is read. */
export const mostPolicyBytes = 16 * 1024 * 1024;

const path = '/admin/quota/policy';
const flag = z
  .enum(['true', 'false'], { error: 'expected true or false' })
  .transform(said => said === 'true');

export function policyRoutes({ documents, ledger, autoCreate }: ApiServices): readonly Route[] {
  return [
    route({
      id: 'getPolicy',
      path,
      tag: 'policy',
      summary: 'All rules, groups and memberships',
      description:
        'The answer is long if many owners are in groups: to ask again, send the `ETag` of the last answer.',
      answer: {
        status: 200,
        description: 'The policy in force',
        schema: wholePolicy,
        version: ({ version }) => version,
      },
      handle: () => wholePolicyOf(ledger),
    }),
    route({
      id: 'replacePolicy',
      method: 'put',
      path,
      tag: 'policy',
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
      body: newWholePolicy,
      faults: [404, 409],
      answer: { status: 200, description: 'The policy as it is now', schema: replacedPolicy },
      handle: async ({ query, body }, { caller }) => {
        const createUsers = query.create_users ?? autoCreate;
        mustBeForThis(ledger, body);
        await mustBeSound(ledger, body, createUsers);
        const replace = (transaction: Transaction) =>
          replaceWholePolicy(ledger, transaction, body, createUsers);
        return query.dry_run
          ? documents.dryRunInSlices(replace)
          : documents.transactInSlices(replace, caller);
      },
    }),
  ];
}
