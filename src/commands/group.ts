/** `softquota group`: sets of rules, and their members. */

import { isDeepStrictEqual } from 'node:util';
import { Option } from 'commander';
import { formatBytes, formatCount, formatUse, printable } from '../text.ts';
import type { Group, GroupUsage, User, WholePolicy } from '../wire/index.ts';
import { apiCommand, gathered, resource } from './api-command.ts';
import { type Created, createUnlessSame, pathStep, policyInForce, withQuery } from './client.ts';
import { limitShown, modeWords, ruleText, stateWords } from './limits.ts';
import { type Column, escapedLines, table, textsIn } from './output.ts';
import { countOf } from './settings.ts';

const groupHelp = 'the name of the group';

export const addGroup = resource('group', {
  summary: 'sets of rules, and their members',
  description:
    'Shows and changes groups. A group has rules, and applies to the users and organizations that are its members. ' +
    '[quota] DEFAULT_GROUPS apply to everybody who is in no group. If an owner has several groups, it is enough that one of them allows an action.',
  commands: [
    apiCommand<WholePolicy>('list', {
      summary: 'list groups',
      ask: policyInForce,
      json: ({ groups, rules }) => {
        const byName = new Map(rules.map(rule => [rule.name, rule]));
        return groups.map(group => ({
          name: group.name,
          rules: group.rules.map(name => byName.get(name)),
        }));
      },
      text: groupsTable,
    }),
    apiCommand<Group & { users: readonly string[] }>('show <group>', {
      summary: 'show a group with its rules and members',
      arguments: [groupHelp],
      ask: async (client, _, name: string) => {
        const path = `/admin/quota/groups/${pathStep(name)}`;
        const shown = await client.get<Group>({ path });
        const users = await client.get<readonly User[]>({ path: `${path}/users` });
        return { ...shown, users: users.map(({ username }) => username) };
      },
      text: ({ name, rules, users }) => [
        rules.length === 0
          ? `${name} has no rules, so it neither allows nor refuses anything.`
          : `${name} has:`,
        rules.map(rule => `  ${rule.name}: ${ruleText(rule)}`),
        `Members: ${users.join(', ') || 'none'}`,
      ],
    }),
    apiCommand<GroupUsage, { top: string }>('usage <group>', {
      summary: 'show what the members of a group use together',
      description:
        'Shows the limits that the members of a group have together, and the members, the largest by the first of these limits first.',
      arguments: [groupHelp],
      options: [new Option('--top <n>', 'the number of members').default('20')],
      ask: (client, { top }, name: string) => {
        const path = `/admin/quota/groups/${pathStep(name)}/usage`;
        return client.get({ path: withQuery(path, { limit: String(countOf('--top', top)) }) });
      },
      text: poolsText,
    }),
    apiCommand<Created<Group>, { rule?: readonly string[] }>('create <group>', {
      summary: 'create a group',
      arguments: [groupHelp],
      options: [
        new Option('--rule <rule>', 'a rule of the group; may be given several times').argParser(gathered),
      ],
      ask: (client, { rule = [] }, name: string) => {
        const body = { name, rules: rule.map(each => ({ name: each })) };
        const isSame = (found: Group) =>
          isDeepStrictEqual(found.rules.map(each => each.name).toSorted(), rule.toSorted());
        return createUnlessSame(client, { list: '/admin/quota/groups', name, body, isSame });
      },
      json: ({ value }) => value,
      text: ({ isNew, value: { name, rules } }) => {
        if (!isNew) return [`There is already the same group ${name}.`];
        return rules.length === 0
          ? [`Created group ${name} without rules; add one with softquota group add-rule.`]
          : [`Created group ${name} with ${rules.map(rule => rule.name).join(', ')}.`];
      },
    }),
    apiCommand('delete <group>', {
      summary: 'delete a group',
      description: 'Deletes a group and its memberships. Its rules remain.',
      arguments: [groupHelp],
      route: 'DELETE /admin/quota/groups/{group}',
      done: 'Deleted group {group}.',
    }),
    apiCommand('add-rule <group> <rule>', {
      summary: 'add a rule to a group',
      arguments: [groupHelp, 'the name of an existing rule'],
      route: 'PUT /admin/quota/groups/{group}/rules/{rule}',
      done: 'Added rule {rule} to group {group}.',
    }),
    apiCommand('remove-rule <group> <rule>', {
      summary: 'remove a rule from a group',
      description: 'Removes a rule from a group. The rule itself remains.',
      arguments: [groupHelp, 'the name of a rule of the group'],
      route: 'DELETE /admin/quota/groups/{group}/rules/{rule}',
      done: 'Removed rule {rule} from group {group}.',
    }),
    apiCommand('add-user <group> <user>', {
      summary: 'add a user or an organization to a group',
      description:
        'Adds a user or an organization to a group. It stays in its other groups. An unknown user is created if ' +
        '[users] AUTO_CREATE = true.',
      arguments: [groupHelp, 'the name of a user or an organization'],
      route: 'PUT /admin/quota/groups/{group}/users/{user}',
      done: 'Added {user} to group {group}.',
    }),
    apiCommand('remove-user <group> <user>', {
      summary: 'remove a user or an organization from a group',
      arguments: [groupHelp, 'the name of a user or an organization in the group'],
      route: 'DELETE /admin/quota/groups/{group}/users/{user}',
      done: 'Removed {user} from group {group}.',
    }),
  ],
});

function groupsTable({ groups, rules }: WholePolicy): string {
  if (groups.length === 0) return 'No groups. Create one with softquota group create.\n';
  const shown = new Map(
    rules.map(({ name, limit, mode }) => {
      const terms = textsIn([limitShown(limit), mode && modeWords[mode]]);
      return [name, `${name} (${terms.join(', ')})`];
    }),
  );
  return table(groups, [
    ['GROUP', group => group.name],
    ['USERS', group => formatCount(group.users.length), 'right'],
    ['RULES', group => group.rules.flatMap(name => shown.get(name) ?? []).join(', ') || 'none'],
  ]);
}

function poolsText({ group, pools, members }: GroupUsage): string {
  if (pools.length === 0) {
    return escapedLines([
      `No rule limits the members of ${group} together; create one with softquota rule create --per group.`,
    ]);
  }
  const limits = table(pools, [
    ['RULE', pool => pool.rule],
    ['USED TOGETHER', pool => formatBytes(pool.used), 'right'],
    ['LIMIT', pool => formatUse(pool.used, pool.limit).limit, 'right'],
    ['PERCENT', pool => formatUse(pool.used, pool.limit).percent, 'right'],
    ['STATE', ({ state, mode }) => textsIn([stateWords[state], mode && modeWords[mode]]).join(', ')],
  ]);
  const shares = table(members, [
    ['MEMBER', member => member.owner],
    ...pools.map(
      ({ rule }): Column<(typeof members)[number]> => [
        printable(rule),
        member => formatBytes(member.used[rule] ?? 0),
        'right',
      ],
    ),
  ]);
  return `${limits}\n${members.length === 0 ? escapedLines(['The group has no members.']) : shares}`;
}
