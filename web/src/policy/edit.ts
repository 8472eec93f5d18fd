/**
 * Edits of a whole policy as pure functions. The saved policy is exactly the one that was shown. Its version
 * prevents that it overwrites a change by somebody else.
 */

import type { DraftPolicy, NewWholePolicy, Rule, WholePolicy } from '../../../src/wire/index.ts';

export type Group = WholePolicy['groups'][number];

/** Replaces the rule of the same name, or appends it. */
export function withRule(policy: WholePolicy, rule: Rule): WholePolicy {
  return { ...policy, rules: placed(policy.rules, rule) };
}

/** Removes a rule, also from all groups. */
export function withoutRule(policy: WholePolicy, name: string): WholePolicy {
  return {
    ...policy,
    rules: policy.rules.filter(rule => rule.name !== name),
    groups: policy.groups.map(group => ({ ...group, rules: group.rules.filter(rule => rule !== name) })),
  };
}

/** Replaces the group of the same name, or appends it. */
export function withGroup(policy: WholePolicy, group: Group): WholePolicy {
  return { ...policy, groups: placed(policy.groups, group) };
}

export function withoutGroup(policy: WholePolicy, name: string): WholePolicy {
  return { ...policy, groups: policy.groups.filter(group => group.name !== name) };
}

/** Puts the owner into these groups and no others. */
export function withGroupsOf(policy: WholePolicy, owner: string, groups: ReadonlySet<string>): WholePolicy {
  return {
    ...policy,
    groups: policy.groups.map(group => {
      const isIn = group.users.includes(owner);
      if (isIn === groups.has(group.name)) return group;
      const users = isIn ? group.users.filter(user => user !== owner) : [...group.users, owner];
      return { ...group, users };
    }),
  };
}

/** Adds these owners to the group, or removes them. Returns the same object if nothing changes. */
export function withMembers(
  policy: WholePolicy,
  groupName: string,
  owners: readonly string[],
  areIn: boolean,
): WholePolicy {
  const group = policy.groups.find(({ name }) => name === groupName);
  if (group === undefined) return policy;
  const meant = new Set(owners);
  const others = group.users.filter(user => !meant.has(user));
  const users = areIn ? [...group.users, ...owners.filter(owner => !group.users.includes(owner))] : others;
  return users.length === group.users.length ? policy : withGroup(policy, { ...group, users });
}

export function groupsOf(policy: WholePolicy, owner: string): readonly string[] {
  return policy.groups.filter(({ users }) => users.includes(owner)).map(({ name }) => name);
}

export function groupsWith(policy: WholePolicy, rule: string): readonly string[] {
  return policy.groups.filter(({ rules }) => rules.includes(rule)).map(({ name }) => name);
}

/**
 * Applies an edit of `base` to the policy in force, which others may have changed meanwhile: of a rule the
 * edited fields, of a group the rules and members that were added or taken out. A deleted group stays
 * deleted.
 */
export function rebased(base: WholePolicy, edited: WholePolicy, inForce: WholePolicy): WholePolicy {
  if (inForce === base) return edited;
  // Edits leave all other rules and groups as the same objects.
  const untouched = new Set<unknown>([...base.rules, ...base.groups]);
  const rules = edited.rules
    .filter(rule => !untouched.has(rule))
    .map(rule => fieldsMerged(named(base.rules, rule.name), rule, named(inForce.rules, rule.name)));
  const groups = edited.groups
    .filter(group => !untouched.has(group))
    .flatMap(group => {
      const [before, now] = [named(base.groups, group.name), named(inForce.groups, group.name)];
      if (before === undefined) return [group];
      if (now === undefined) return [];
      const merged = (list: 'rules' | 'users') => namesMerged(before[list], group[list], now[list]);
      return [{ name: group.name, rules: merged('rules'), users: merged('users') }];
    });
  return groups.reduce(withGroup, rules.reduce(withRule, inForce));
}

function fieldsMerged(before: Rule | undefined, after: Rule, now: Rule | undefined): Rule {
  if (before === undefined || now === undefined) return after;
  const names = new Set([...Object.keys(before), ...Object.keys(after), ...Object.keys(now)]);
  const textOf = (rule: Rule, name: string) => JSON.stringify(Reflect.get(rule, name));
  const from = (name: string): Rule => (textOf(after, name) === textOf(before, name) ? now : after);
  const fields = [...names]
    .filter(name => Reflect.has(from(name), name))
    .map(name => [name, Reflect.get(from(name), name)]);
  // Each field is that of a rule.
  return Object.fromEntries(fields) as Rule;
}

function namesMerged(before: readonly string[], after: readonly string[], now: readonly string[]) {
  // A group may have a hundred thousand members.
  const [were, are, there] = [new Set(before), new Set(after), new Set(now)];
  const kept = now.filter(name => are.has(name) || !were.has(name));
  return [...kept, ...after.filter(name => !were.has(name) && !there.has(name))];
}

function named<Named extends { readonly name: string }>(list: readonly Named[], name: string) {
  return list.find(each => each.name === name);
}

export function isSame(a: WholePolicy, b: WholePolicy): boolean {
  return JSON.stringify([a.rules, a.groups]) === JSON.stringify([b.rules, b.groups]);
}

/** Makes a draft for a trial. Members are sent only if they differ: there may be a hundred thousand. */
export function draftOf(before: WholePolicy, after: WholePolicy): DraftPolicy {
  return {
    rules: after.rules.map(rule => ({ ...rule })),
    groups: after.groups.map(group => ({
      name: group.name,
      rules: group.rules.map(name => ({ name })),
      ...usersChanged(before, group),
    })),
    settings: {},
  };
}

/** Makes the request that replaces `before`, and fails if another policy is in force. */
export function replacementOf(before: WholePolicy, after: WholePolicy): NewWholePolicy {
  return {
    version: before.version,
    rules: after.rules.map(rule => ({ ...rule })),
    groups: after.groups.map(group => ({
      name: group.name,
      rules: [...group.rules],
      ...usersChanged(before, group),
    })),
  };
}

function usersChanged(before: WholePolicy, { name, users }: Group): { users?: string[] } {
  const was = before.groups.find(group => group.name === name)?.users ?? [];
  const isOther = users.length !== was.length || users.some((user, index) => user !== was[index]);
  return isOther ? { users: [...users] } : {};
}

function placed<Named extends { readonly name: string }>(
  list: readonly Named[],
  one: Named,
): readonly Named[] {
  return list.some(({ name }) => name === one.name)
    ? list.map(each => (each.name === one.name ? one : each))
    : [...list, one];
}
