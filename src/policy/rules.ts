/** Rules: read, and changed in a draft. */

import { FaultList, SoftquotaError } from '../errors.ts';
import { nameFault, printable, type Rule } from '../quota/index.ts';
import type { Draft, View } from './documents.ts';
import { groupKind, isRuleSubject, mustBeRule, ruleKind } from './kinds.ts';
import { inOrder, nextPlaceAmong } from './order.ts';

/** What a change of a rule says; what is left out stays. */
export type RuleEdit = Partial<Omit<Rule, 'name'>>;

/** As created. */
export function rulesIn(view: View): readonly Rule[] {
  return inOrder(view.all(ruleKind)).map(([name, { limitBytes, subjects }]) => ({
    name,
    limitBytes,
    subjects,
  }));
}

export function ruleNamed(view: View, name: string): Rule | undefined {
  const found = view.get(ruleKind, name);
  return found === undefined ? undefined : { name, limitBytes: found.limitBytes, subjects: found.subjects };
}

/** Why such a rule cannot be; none: it can. Each names the field. */
export function ruleFaults({ name, limitBytes, subjects }: Rule): readonly string[] {
  const named = nameFault(name);
  return [
    ...(named === null ? [] : [`name: ${named}`]),
    ...(Number.isSafeInteger(limitBytes) && limitBytes >= -1
      ? []
      : ['limit: expected whole bytes from 0 to 2^53 - 1, or -1 for unlimited']),
    ...subjects.flatMap(each =>
      isRuleSubject(each) ? [] : [`subjects: there is no subject ${printable(String(each))}`],
    ),
  ];
}

/** Behind all others unless a place is given. Throws `conflict` where there is one of that name, else `invalid` with every fault. */
export function createRule(draft: Draft, rule: Rule, place = nextPlaceAmong(draft.all(ruleKind))): void {
  if (ruleNamed(draft, rule.name) !== undefined) {
    throw new SoftquotaError('conflict', `the rule ${printable(rule.name)} exists already`);
  }
  put(draft, rule, place);
}

/** Throws `not_found`, or `invalid` with every fault. */
export function editRule(draft: Draft, name: string, edit: RuleEdit): Rule {
  const before = mustBeRule(draft, name);
  const rule = {
    name,
    limitBytes: edit.limitBytes ?? before.limitBytes,
    subjects: edit.subjects ?? before.subjects,
  };
  put(draft, rule, before.place);
  return rule;
}

/** Takes it out of every group too; throws `not_found`. */
export function deleteRule(draft: Draft, name: string): void {
  mustBeRule(draft, name);
  draft.remove(ruleKind, name);
  for (const [group, document] of [...draft.all(groupKind)]) {
    if (!document.rules.includes(name)) continue;
    draft.put(groupKind, group, { ...document, rules: document.rules.filter(rule => rule !== name) });
  }
}

function put(draft: Draft, rule: Rule, at: number): void {
  const faults = ruleFaults(rule);
  FaultList.of(faults).throwIfAny();
  draft.put(ruleKind, rule.name, { place: at, limitBytes: rule.limitBytes, subjects: rule.subjects });
}
