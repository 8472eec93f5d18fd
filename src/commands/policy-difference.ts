/** Shows what one policy changes of another, for those who are to agree to it. */

import { formatCount } from '../text/index.ts';
import type { Rule, WholePolicy } from '../wire/index.ts';
import { limitShown, ruleText, termsText } from './limits.ts';
import { escapedLines } from './output.ts';

type WholeGroup = WholePolicy['groups'][number];

interface Changed<T> {
  readonly added: readonly T[];
  readonly removed: readonly T[];
}

interface Both<T> {
  readonly before: T;
  readonly after: T;
}

interface ChangedGroup {
  readonly name: string;
  readonly rules: Changed<string>;
  readonly users: Changed<string>;
}

/** Difference of two policies, as `softquota policy import --json` prints it. */
export interface Difference {
  readonly rules: Changed<Rule> & { readonly changed: readonly Both<Rule>[] };
  readonly groups: Changed<WholeGroup> & { readonly changed: readonly ChangedGroup[] };
  /** Something stands in another order, and nothing else is different. */
  readonly only_order: boolean;
}

/** Null: they are the same. */
export function differenceOf(before: WholePolicy, after: WholePolicy): Difference | null {
  if (before.version === after.version) return null;
  const rules = {
    ...namesChanged(before.rules, after.rules),
    changed: inBoth(before.rules, after.rules).filter(
      ({ before: was, after: is }) =>
        was.limit !== is.limit || !isSameSet(was.subjects, is.subjects) || !isSameTerms(was, is),
    ),
  };
  const groups = {
    ...namesChanged(before.groups, after.groups),
    changed: inBoth(before.groups, after.groups)
      .map(changedGroup)
      .filter(group => !isNothing(group.rules) || !isNothing(group.users)),
  };
  const onlyOrder = [rules, groups].every(each => isNothing(each) && each.changed.length === 0);
  return { rules, groups, only_order: onlyOrder };
}

/** Whole lines: `+` what comes, `-` what goes, `~` what becomes another. */
export function differenceText({ rules, groups, only_order: onlyOrder }: Difference): string {
  if (onlyOrder) return 'Only the order changes.\n';
  return escapedLines([
    ...rules.added.map(rule => `+ rule ${rule.name}: ${ruleText(rule)}`),
    ...rules.changed.map(ruleLine),
    ...rules.removed.map(rule => `- rule ${rule.name}: ${ruleText(rule)}`),
    ...groups.added.map(group => `+ group ${group.name}: ${contentOf(group)}`),
    ...groups.changed.map(groupLine),
    ...groups.removed.map(group => `- group ${group.name}: ${contentOf(group)}`),
  ]);
}

function ruleLine({ before, after }: Both<Rule>): string {
  const sameSubjects = isSameSet(before.subjects, after.subjects) && isSameTerms(before, after);
  const was = sameSubjects ? limitShown(before.limit) : ruleText(before);
  return `~ rule ${after.name}: ${ruleText(after)} (was ${was})`;
}

function isSameTerms(before: Rule, after: Rule): boolean {
  return termsText(before).join() === termsText(after).join();
}

function groupLine({ name, rules, users }: ChangedGroup): string {
  const parts = [
    ['rule', '+', rules.added],
    ['rule', '-', rules.removed],
    ['user', '+', users.added],
    ['user', '-', users.removed],
  ] as const;
  const told = parts.flatMap(([what, sign, names]) =>
    names.length === 0 ? [] : [`${sign} ${counted(what, names)}`],
  );
  return `~ group ${name}: ${told.join('; ')}`;
}

function contentOf({ rules, users }: WholeGroup): string {
  return `${rules.length === 0 ? 'no rules' : counted('rule', rules)}; ${users.length === 0 ? 'nobody' : counted('user', users)}`;
}

/** Number of names that are listed; others are only counted. */
const mostNames = 8;

function counted(what: string, names: readonly string[]): string {
  const more = names.length - mostNames;
  const named = names.slice(0, mostNames).join(', ');
  return `${names.length === 1 ? what : `${formatCount(names.length)} ${what}s`} ${named}${more > 0 ? ` and ${formatCount(more)} more` : ''}`;
}

interface Named {
  readonly name: string;
}

function changedGroup({ before, after }: Both<WholeGroup>): ChangedGroup {
  return {
    name: after.name,
    rules: changedIn(before.rules, after.rules, String),
    users: changedIn(before.users, after.users, String),
  };
}

function namesChanged<T extends Named>(before: readonly T[], after: readonly T[]): Changed<T> {
  return changedIn(before, after, ({ name }) => name);
}

function inBoth<T extends Named>(before: readonly T[], after: readonly T[]): readonly Both<T>[] {
  const was = new Map(before.map(each => [each.name, each]));
  return after.flatMap(each => {
    const known = was.get(each.name);
    return known === undefined ? [] : [{ before: known, after: each }];
  });
}

function changedIn<T>(before: readonly T[], after: readonly T[], nameOf: (each: T) => string): Changed<T> {
  const [was, is] = [new Set(before.map(nameOf)), new Set(after.map(nameOf))];
  return {
    added: after.filter(each => !was.has(nameOf(each))),
    removed: before.filter(each => !is.has(nameOf(each))),
  };
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return isNothing(changedIn(a, b, String));
}

function isNothing({ added, removed }: Changed<unknown>): boolean {
  return added.length === 0 && removed.length === 0;
}
