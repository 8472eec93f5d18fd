/** Reads rules from documents, and changes them in a transaction. */

import type { ChangeSet, Snapshot } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import { given } from '../given.ts';
import {
  type GraceMost,
  isOfIncoming,
  limitFault,
  longestGraceMs,
  nameFault,
  type Rule,
  type RuleMode,
  type RuleScope,
  ruleScopes,
} from '../quota/index.ts';
import { printable } from '../text.ts';
import {
  groupKind,
  inOrder,
  isRuleSubject,
  mustBeRule,
  nextPlaceAmong,
  type RuleDocument,
  ruleKind,
} from './kinds.ts';

/** A change of a rule; fields that are left out stay the same. */
export interface RuleEdit extends Partial<Pick<Rule, 'limitBytes' | 'subjects'>> {
  /** Null: as configured. */
  readonly graceMs?: number | null;
  /** Null: as configured. */
  readonly graceMost?: GraceMost | null;
  /** `enforce`: the rule is in force. */
  readonly mode?: 'enforce' | RuleMode;
  /** The thing that the rule limits. `ruleFaults` reports an unknown one. */
  readonly per?: RuleScope;
  /** Percentages of the limit, in any order; null: as configured. */
  readonly warnAt?: readonly number[] | null;
}

export function rulesIn(snapshot: Snapshot): readonly Rule[] {
  return inOrder(snapshot.all(ruleKind)).map(([name, document]) => ruleOf(name, document));
}

export function ruleNamed(snapshot: Snapshot, name: string): Rule | undefined {
  const found = snapshot.get(ruleKind, name);
  return found === undefined ? undefined : ruleOf(name, found);
}

function ruleOf(name: string, { place: _, ...fields }: RuleDocument): Rule {
  return { name, ...fields };
}

export function ruleFrom(
  name: string,
  { limitBytes, subjects = [], ...edit }: RuleEdit & Pick<Rule, 'limitBytes'>,
): Rule {
  return edited({ name, limitBytes, subjects }, edit);
}

/** Returns the rule with the fields of the edit. Fields with default values are absent in the result. */
function edited(before: Rule, edit: RuleEdit): Rule {
  const graceMs = edit.graceMs === undefined ? before.graceMs : edit.graceMs;
  const graceMost = edit.graceMost === undefined ? before.graceMost : edit.graceMost;
  const warnAt = edit.warnAt === undefined ? before.warnAt : edit.warnAt;
  const mode = edit.mode ?? before.mode;
  const per = edit.per ?? before.per ?? 'owner';
  return {
    name: before.name,
    limitBytes: edit.limitBytes ?? before.limitBytes,
    subjects: edit.subjects ?? before.subjects,
    ...given({ graceMs, graceMost, warnAt: warnAt && [...new Set(warnAt)].sort((a, b) => a - b) }),
    ...(mode === undefined || mode === 'enforce' ? {} : { mode }),
    ...(per === 'owner' ? {} : { per }),
  };
}

/** Returns the faults of a rule, each with the name of the field; empty: it is valid. */
export function ruleFaults(rule: Rule): readonly string[] {
  const { name, limitBytes, subjects, graceMs = 0, graceMost, per = 'owner' } = rule;
  const named = nameFault(name);
  const limit = limitFault(limitBytes, per);
  return [
    ...(named === null ? [] : [`name: ${named}`]),
    ...(limit === null ? [] : [`limit: ${limit}`]),
    ...(ruleScopes.includes(per) ? [] : [`per: expected one of ${ruleScopes.join(', ')}`]),
    ...(isOfIncoming({ per }) && (graceMs > 0 || graceMost !== undefined)
      ? [`grace: expected none for each ${per}; "default" takes it away`]
      : []),
    ...(Number.isSafeInteger(graceMs) && graceMs >= 0 && graceMs <= longestGraceMs
      ? []
      : ['grace: expected whole seconds from 0 to a hundred years']),
    ...subjects.flatMap(each =>
      isRuleSubject(each) ? [] : [`subjects: there is no subject ${printable(String(each))}`],
    ),
  ];
}

/**
 * Creates a rule, by default after all others. Throws `conflict` if it exists, or `invalid` with all faults.
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

/** Throws `not_found`, or `invalid` with all faults. */
export function editRule(changes: ChangeSet, name: string, edit: RuleEdit): Rule {
  const before = mustBeRule(changes, name);
  const rule = edited(ruleOf(name, before), edit);
  put(changes, rule, before.place);
  return rule;
}

/** Deletes a rule, and removes it from all groups; throws `not_found`. */
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
  changes.put(ruleKind, rule.name, ruleDocument(rule, at));
}

export function ruleDocument({ name: _, ...fields }: Rule, at: number): RuleDocument {
  return { place: at, ...fields };
}
