/** All rules and groups, and who is in which, as one document. */

import { z } from 'zod';
import { atMost, knownName, mark, mostOf } from './bounds.ts';
import { noGroupMode } from './grace.ts';
import { newName, newRule, rule } from './policy.ts';

const version = mark.meta({
  description: 'Of what it says: another policy has another version, the same one has the same.',
});

const wholeGroup = z
  .object({
    name: z.string(),
    rules: z.array(z.string()).readonly().meta({ description: 'The names of its rules.' }),
    users: z
      .array(z.string())
      .readonly()
      .meta({ description: 'The users and organizations in it, as they came to it.' }),
  })
  .meta({ id: 'WholeGroup' });

export const wholePolicy = z
  .object({ version, rules: z.array(rule).readonly(), groups: z.array(wholeGroup).readonly() })
  .meta({ id: 'WholePolicy', description: 'All rules and groups, and who is in which.' });

export type WholePolicy = z.infer<typeof wholePolicy>;

/** A rule of a whole policy. */
export const newWholeRule = z.strictObject(newRule.shape);

const newWholeGroup = z
  .strictObject({
    name: newName,
    rules: atMost(mostOf.rules, z.array(knownName))
      .nullish()
      .meta({ description: 'Names of rules of this document.' }),
    users: atMost(mostOf.users, z.array(knownName))
      .nullish()
      .meta({ description: 'Who is in it; left out: those who are in the group of that name.' }),
    mode: noGroupMode,
  })
  .meta({ id: 'NewWholeGroup' });

export const newWholePolicy = z
  .strictObject({
    version: version.nullish().meta({
      description:
        'Of the policy that this one is to take the place of; left out: of any. Another one is a conflict.',
    }),
    rules: atMost(mostOf.rules, z.array(newWholeRule)),
    groups: atMost(mostOf.groups, z.array(newWholeGroup)),
  })
  .meta({
    id: 'NewWholePolicy',
    description: 'All rules and groups that there are to be; there are no others then.',
  });

export type NewWholePolicy = z.output<typeof newWholePolicy>;

export const replacedPolicy = wholePolicy
  .extend({
    created_users: z
      .array(z.string())
      .readonly()
      .meta({ description: 'Who was not known before, and was created.' }),
  })
  .meta({ id: 'ReplacedPolicy', description: 'The policy as it is now.' });

export type ReplacedPolicy = z.infer<typeof replacedPolicy>;
