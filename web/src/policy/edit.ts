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
