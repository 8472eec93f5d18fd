/** Rules: read, and changed in a changes. */

import type { ChangeSet, Snapshot } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import { nameFault, type Rule } from '../quota/index.ts';
import { printable } from '../text/index.ts';
import { groupKind, isRuleSubject, mustBeRule, ruleKind } from './kinds.ts';
import { inOrder, nextPlaceAmong } from './order.ts';

/** A change of a rule; fields that are left out stay the same. */
export type RuleEdit = Partial<Omit<Rule, 'name'>>;

/** As created. */
export function rulesIn(snapshot: Snapshot): readonly Rule[] {
  return inOrder(snapshot.all(ruleKind)).map(([name, { limitBytes, subjects }]) => ({
    name,
    limitBytes,
    subjects,
  }));
}

export function ruleNamed(snapshot: Snapshot, name: string): Rule | undefined {
  const found = snapshot.get(ruleKind, name);
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

/**
 * Behind all others unless a place is given. Throws `conflict` where there is one of that name, else
 * `invalid` with every fault.
 */
export function createRule(
  changes: ChangeSet,
  rule: Rule,
  place = nextPlaceAmong(changes.all(ruleKind)),
): void {
  if (ruleNamed(changes, rule.name) !== undefined) {
    throw new SoftquotaError('conflict', `the rule ${printable(rule.name)} exists already`);
  }
  put(changes, rule, place);
}

/** Throws `not_found`, or `invalid` with every fault. */
export function editRule(changes: ChangeSet, name: string, edit: RuleEdit): Rule {
  const before = mustBeRule(changes, name);
  const rule = {
    name,
    limitBytes: edit.limitBytes ?? before.limitBytes,
    subjects: edit.subjects ?? before.subjects,
  };
  put(changes, rule, before.place);
  return rule;
}

/** Takes it out of every group too; throws `not_found`. */
export function deleteRule(changes: ChangeSet, name: string): void {
  mustBeRule(changes, name);
  changes.remove(ruleKind, name);
  for (const [group, document] of [...changes.all(groupKind)]) {
    if (!document.rules.includes(name)) continue;
    changes.put(groupKind, group, { ...document, rules: document.rules.filter(rule => rule !== name) });
  }
}

function put(changes: ChangeSet, rule: Rule, at: number): void {
  const faults = ruleFaults(rule);
  FaultList.of(faults).throwIfAny();
  changes.put(ruleKind, rule.name, { place: at, limitBytes: rule.limitBytes, subjects: rule.subjects });
}
