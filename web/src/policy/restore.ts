/**
 * Undoes a change of the policy: puts the content before its events into the policy in force. It refuses if
 * the same thing was changed again since, or if something that is needed no longer exists.
 */

import type { Event } from '../../../src/overview/event-shapes.ts';
import { isSubject, type RuleScope, ruleScopes } from '../../../src/quota/index.ts';
import { printable } from '../../../src/text.ts';
import type { Rule, WholePolicy } from '../../../src/wire/index.ts';
import { fieldsOf } from './changes.ts';
import { groupsOf, isSame, withGroup, withGroupsOf, withoutGroup, withoutRule, withRule } from './edit.ts';

export type PolicyEvent = Extract<Event, { readonly kind: 'policy' }>;

export type Restored =
  | { readonly is: 'edited'; readonly policy: WholePolicy }
  /** The policy is the one before the events, but for the order of groups. */
  | { readonly is: 'nothing' }
  | { readonly is: 'refused'; readonly why: readonly string[] };

const order = ['rule', 'group', 'assignment'];

/** Returns true for changes of the policy itself; owners, tokens and sources cannot be restored. */
export function isRestorable({ what, name }: PolicyEvent): boolean {
  return name !== null && order.includes(what);
}

/** Undoes the given events of one change. Events that cannot be restored are ignored. */
export function restored(policy: WholePolicy, events: readonly PolicyEvent[]): Restored {
  const undone = events.filter(isRestorable);
  const why = undone.flatMap(event => changedSince(policy, event) ?? heldBack(event) ?? []);
  if (why.length > 0) return { is: 'refused', why };
  // The order of creation: rules before groups that have them, and groups before their members.
  const steps = undone.toReversed().toSorted((a, b) => order.indexOf(a.what) - order.indexOf(b.what));
  const edited = steps.reduce(withBefore, policy);
  const lacking = lackingIn(edited, undone);
  if (lacking.length > 0) return { is: 'refused', why: lacking };
  return isSame(policy, edited) ? { is: 'nothing' } : { is: 'edited', policy: edited };
}

/** Returns the reason why the event does not describe the present state; null if it does. */
function changedSince(policy: WholePolicy, { what, name, after }: PolicyEvent): string | null {
  const now = contentOf(policy, what, name ?? '');
  if (isSameContent(now, after)) return null;
  const shown = printable(name ?? '');
  const [kind, thing] =
    what === 'assignment' ? ['The groups of', 'have'] : [what === 'rule' ? 'The rule' : 'The group', 'has'];
  if (now === null) return `${kind} ${shown} ${thing} been deleted since.`;
  return after === null
    ? `${kind} ${shown} ${thing} been made again since.`
    : `${kind} ${shown} ${thing} been changed again since.`;
}

/**
 * Refuses to restore a group that was in report mode, whose rules would come into force; null for other
 * events.
 */
function heldBack({ what, name, before }: PolicyEvent): string | null {
  if (what !== 'group' || termsIn(before).mode !== 'report') return null;
  return `The group ${printable(name ?? '')} was in report mode, which only rules have now.`;
}

function contentOf(policy: WholePolicy, what: string, name: string): object | null {
  if (what === 'rule') {
    const rule = policy.rules.find(each => each.name === name);
    if (rule === undefined) return null;
    const { name: _, ...content } = rule;
    return content;
  }
  if (what === 'group') {
    const group = policy.groups.find(each => each.name === name);
    return group === undefined ? null : { rules: group.rules };
  }
  const groups = groupsOf(policy, name);
  return groups.length === 0 ? null : { groups };
}

/** Compares two contents. The order of an owner's groups does not matter. */
function isSameContent(now: object | null, then: unknown): boolean {
  if (now === null || then === null) return now === then;
  return comparable(now) === comparable(then);
}

function comparable(content: unknown): string {
  return JSON.stringify([
    limitIn(content),
    scopeIn(content),
    namesIn(content, 'subjects'),
    namesIn(content, 'rules'),
    namesIn(content, 'groups')?.toSorted(),
    termsIn(content),
  ]);
}

function withBefore(policy: WholePolicy, { what, name, before }: PolicyEvent): WholePolicy {
  const named = name ?? '';
  if (what === 'rule') {
    const rule = ruleIn(named, before);
    return rule === null ? withoutRule(policy, named) : withRule(policy, rule);
  }
  if (what === 'group') {
    const rules = namesIn(before, 'rules');
    if (rules === null) return withoutGroup(policy, named);
    const users = policy.groups.find(group => group.name === named)?.users ?? [];
    return withGroup(policy, { name: named, rules, users });
  }
  return withGroupsOf(policy, named, new Set(namesIn(before, 'groups') ?? []));
}

/** Lists what the restored groups and owners need but does not exist. */
function lackingIn(policy: WholePolicy, events: readonly PolicyEvent[]): readonly string[] {
  const rules = new Set(policy.rules.map(({ name }) => name));
  const groups = new Set(policy.groups.map(({ name }) => name));
  return events.flatMap(({ what, name, before }) => {
    const shown = printable(name ?? '');
    const lack = (needed: readonly string[] | null, there: ReadonlySet<string>, kind: string) =>
      (needed ?? [])
        .filter(each => !there.has(each))
        .map(each => `${shown} needs the ${kind} ${printable(each)}, which no longer exists.`);
    if (what === 'group') return lack(namesIn(before, 'rules'), rules, 'rule');
    return what === 'assignment' ? lack(namesIn(before, 'groups'), groups, 'group') : [];
  });
}

function ruleIn(name: string, content: unknown): Rule | null {
  const limit = limitIn(content);
  const subjects = namesIn(content, 'subjects');
  if (limit === null || subjects === null) return null;
  const known = subjects.filter(each => each === 'none' || isSubject(each));
  return { name, limit, subjects: known, ...termsIn(content), per: scopeIn(content) };
}

function scopeIn(content: unknown): RuleScope {
  return ruleScopes.find(scope => scope === fieldsOf(content).per) ?? 'owner';
}

/** Returns the optional fields of a rule or a group. */
function termsIn(content: unknown): Pick<Rule, 'grace' | 'grace_most' | 'mode' | 'warn_at'> {
  const { grace, grace_most: most, mode, warn_at: warnAt } = fieldsOf(content);
  return {
    ...(typeof grace === 'number' ? { grace } : {}),
    ...(typeof most === 'string' ? { grace_most: most } : {}),
    ...(mode === 'report' || mode === 'warn' ? { mode } : {}),
    ...(Array.isArray(warnAt) ? { warn_at: warnAt.filter(each => typeof each === 'number') } : {}),
  };
}

function limitIn(content: unknown): number | null {
  const { limit } = fieldsOf(content);
  return typeof limit === 'number' ? limit : null;
}

function namesIn(content: unknown, field: 'groups' | 'rules' | 'subjects'): readonly string[] | null {
  const list = fieldsOf(content)[field];
  return Array.isArray(list) ? list.filter(each => typeof each === 'string') : null;
}
