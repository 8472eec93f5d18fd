/** `/admin/quota/policy`: all rules and groups, and who is in which, as one document. */

import { z } from 'zod';
import type { Transaction } from '../../documents/index.ts';
import { newWholePolicy, replacedPolicy, wholePolicy } from '../../wire/index.ts';
import { administrators } from '../access.ts';
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
      method: 'get',
      path,
      tag: 'policy',
      summary: 'All rules and groups, and who is in which',
      description: 'Long where many owners are in groups: who looks again sends the `ETag` of what is known.',
      access: administrators.read,
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
      summary: 'Put another policy in place of the one in force',
      description:
        'All of it or nothing, in force as a whole. What is sent may be up to 16 MiB long. With the `version` of the policy ' +
        'that was looked at, it is refused where somebody has changed that meanwhile.',
      access: administrators.write,
      mostBytes: mostPolicyBytes,
      query: z.strictObject({
        dry_run: flag.default(false).meta({ description: 'Only answer what there would be.' }),
        create_users: flag.optional().meta({
          description: 'Create users who are not known; unless given, as `[users] AUTO_CREATE` says.',
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
