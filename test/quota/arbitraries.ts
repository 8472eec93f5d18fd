/** Policies and usage for laws: small numbers and few names, so that ties and overlaps are common. */

import fc from 'fast-check';
import {
  compileGroup,
  type decide,
  type Group,
  leaves,
  type QuotaSettings,
  type Rule,
  type RuleSubject,
  type Standing,
  standingIn,
  subjects,
  type Usage,
} from '../../src/quota/index.ts';

export const subject = fc.constantFrom(...subjects);
const ruleSubject: fc.Arbitrary<RuleSubject> = fc.oneof(
  { weight: 12, arbitrary: subject },
  { weight: 1, arbitrary: fc.constant<RuleSubject>('none') },
);

export const limit = fc.oneof(fc.constantFrom(-1, 0), fc.nat(40), fc.nat(200));

export const usage: fc.Arbitrary<Usage> = fc.array(fc.oneof(fc.constant(0), fc.nat(20)), {
  minLength: leaves.length,
  maxLength: leaves.length,
});

const names = ['a', 'b', 'c', 'd', 'é'] as const;

const anyRule: fc.Arbitrary<Rule> = fc.record({
  name: fc.constantFrom(...names),
  limitBytes: limit,
  subjects: fc.array(ruleSubject, { maxLength: 4 }),
});

export const group: fc.Arbitrary<Group> = fc.record({
  name: fc.constantFrom(...names),
  rules: fc.uniqueArray(anyRule, { maxLength: 4, selector: one => one.name }),
});

export const groups: fc.Arbitrary<readonly Group[]> = fc.uniqueArray(group, {
  maxLength: 4,
  selector: one => one.name,
});

export const settings: fc.Arbitrary<QuotaSettings> = fc.record({
  enabled: fc.constant(true),
  refuseWhen: fc.constantFrom('exceeded', 'reached'),
  uncovered: fc.constantFrom('default', 'deny'),
  precise: fc.boolean(),
  mode: fc.constant('enforce'),
  warnAt: fc
    .uniqueArray(fc.integer({ min: 1, max: 100 }), { maxLength: 3 })
    .map(each => each.sort((a, b) => a - b)),
  totalBytes: limit,
});

export const adding = fc.oneof(fc.constant(0), fc.nat(30));

/** A question with all that bears on it; groups are not compiled yet, so that a law can change them. */
export const question = fc.record({ settings, assigned: groups, defaults: groups, usage, subject, adding });

export type Question = typeof question extends fc.Arbitrary<infer Value> ? Value : never;

/** The standing of an owner, as a policy gives it. */
export function standing(assigned: readonly Group[], defaults: readonly Group[]): Standing {
  return standingIn({ assigned: assigned.map(compileGroup), defaults: defaults.map(compileGroup) });
}

/** A rule for everything, unless said otherwise. */
export function rule(name: string, limitBytes: number, more: Partial<Rule> = {}): Rule {
  return { name, limitBytes, subjects: ['size:all'], ...more };
}

/** The question as `decide` and `explain` take it, with what differs. */
export function asked(
  { settings: by, assigned, defaults, usage: stored, subject: what, adding: bytes }: Question,
  differing: Partial<Parameters<typeof decide>[0]> = {},
): Parameters<typeof decide>[0] {
  const groups = standing(assigned, defaults);
  return { settings: by, standing: groups, usage: stored, subject: what, addingBytes: bytes, ...differing };
}

export function ruleOf(name: string, limitBytes: number, ...named: readonly RuleSubject[]): Rule {
  return { name, limitBytes, subjects: named };
}

/** Settings as app.ini has them when it only switches quotas on. */
export const plainSettings: QuotaSettings = {
  enabled: true,
  refuseWhen: 'exceeded',
  uncovered: 'default',
  precise: false,
  mode: 'enforce',
  warnAt: [80, 90],
  totalBytes: -1,
};
