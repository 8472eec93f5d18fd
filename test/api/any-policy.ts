/**
 * Policies and usage for laws over HTTP: few names and small numbers, so that ties and overlaps are common.
 */

import fc from 'fast-check';
import { leaves } from '../../src/quota/index.ts';
import type { NewWholePolicy } from '../../src/wire/index.ts';
import * as any from '../quota/arbitraries.ts';
import type { World } from './world.ts';

export const owners = ['alice', 'bob', 'carol'] as const;
const ruleNames = ['a', 'b', 'c', 'é'] as const;
const groupNames = ['free', 'large', 'x/y'] as const;

/** Most rules are in force. */
const mode = fc.constantFrom('enforce' as const, 'enforce' as const, 'report' as const, null);

type Policy = Pick<NewWholePolicy, 'rules' | 'groups'>;

export const policy: fc.Arbitrary<Policy> = fc
  .uniqueArray(
    fc.record({
      name: fc.constantFrom(...ruleNames),
      limit: any.limit,
      subjects: fc.uniqueArray(any.subject, { maxLength: 3 }),
      mode,
    }),
    { maxLength: ruleNames.length, selector: ({ name }) => name },
  )
  .chain(rules =>
    fc
      .uniqueArray(
        fc.record({
          name: fc.constantFrom(...groupNames),
          rules: fc.subarray(rules.map(({ name }) => name)),
          users: fc.subarray([...owners]),
        }),
        { maxLength: groupNames.length, selector: ({ name }) => name },
      )
      .map(groups => ({ rules, groups })),
  );

export const quota = fc.record({
  total: any.limit,
  default_groups: fc.subarray([...groupNames]),
  refuse_when: fc.constantFrom('exceeded' as const, 'reached' as const),
  uncovered: fc.constantFrom('default' as const, 'deny' as const),
});

export type Quota = typeof quota extends fc.Arbitrary<infer Value> ? Value : never;

/** Usage of each of the owners, leaf by leaf. */
export const usage = fc.tuple(any.usage, any.usage, any.usage);

export async function store(world: World, stored: typeof usage extends fc.Arbitrary<infer V> ? V : never) {
  for (const [at, owner] of owners.entries()) {
    for (const [index, leaf] of leaves.entries()) await world.report(owner, leaf, stored[at]?.[index] ?? 0);
  }
}

/** Has the daemon rule by these settings. */
export function configure(world: World, { total, default_groups, refuse_when, uncovered }: Quota): void {
  world.reload({
    quota: {
      ENABLED: 'true',
      DEFAULT_GROUPS: default_groups.join(', '),
      REFUSE_WHEN: refuse_when,
      UNCOVERED: uncovered,
    },
    'quota.default': { TOTAL: String(total) },
  });
}

/** Puts the policy in the place of whatever there is. */
export async function apply(world: World, body: Policy): Promise<void> {
  await world.put('/admin/quota/policy', body);
}
