/** `softquota group`: rules put together, and the users and organizations that they are for. */

import { isDeepStrictEqual } from 'node:util';
import { Option } from 'commander';
import { formatCount } from '../text/index.ts';
import type { Group, User, WholePolicy } from '../wire/index.ts';
import { apiCommand, resource } from './api-command.ts';
import { type Created, createUnlessSame, pathStep, policyInForce } from './client.ts';
import { gathered, limitShown, ruleText } from './limits.ts';
import { table } from './output.ts';

const nameHelp = 'the name of the group';

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
      arguments: [nameHelp],
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
        ...rules.map(rule => `  ${rule.name}: ${ruleText(rule)}`),
        `Members: ${users.join(', ') || 'none'}`,
      ],
    }),
    apiCommand<Created<Group>, { rule?: readonly string[] }>('create <group>', {
      summary: 'create a group',
      arguments: [nameHelp],
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
      arguments: [nameHelp],
      route: 'DELETE /admin/quota/groups/{group}',
      done: 'Deleted group {group}.',
    }),
    apiCommand('add-rule <group> <rule>', {
      summary: 'add a rule to a group',
      arguments: [nameHelp, 'the name of an existing rule'],
      route: 'PUT /admin/quota/groups/{group}/rules/{rule}',
      done: 'Added rule {rule} to group {group}.',
    }),
    apiCommand('remove-rule <group> <rule>', {
      summary: 'remove a rule from a group',
      description: 'Removes a rule from a group. The rule itself remains.',
      arguments: [nameHelp, 'the name of a rule of the group'],
      route: 'DELETE /admin/quota/groups/{group}/rules/{rule}',
      done: 'Removed rule {rule} from group {group}.',
    }),
    apiCommand('add-user <group> <user>', {
      summary: 'add a user or an organization to a group',
      description:
        'Adds a user or an organization to a group. It stays in its other groups. An unknown user is created if ' +
        '[users] AUTO_CREATE = true.',
      arguments: [nameHelp, 'the name of a user or an organization'],
      route: 'PUT /admin/quota/groups/{group}/users/{user}',
      done: 'Added {user} to group {group}.',
    }),
    apiCommand('remove-user <group> <user>', {
      summary: 'remove a user or an organization from a group',
      arguments: [nameHelp, 'the name of a user or an organization in the group'],
      route: 'DELETE /admin/quota/groups/{group}/users/{user}',
      done: 'Removed {user} from group {group}.',
    }),
  ],
});

function groupsTable({ groups, rules }: WholePolicy): string {
  if (groups.length === 0) return 'No groups. Create one with softquota group create.\n';
  const shown = new Map(
    rules.map(({ name, limit, mode }) => [
      name,
      `${name} (${limitShown(limit)}${mode === 'report' ? ', only reported' : ''})`,
    ]),
  );
  return table(groups, [
    ['GROUP', group => group.name],
    ['USERS', group => formatCount(group.users.length), 'right'],
    ['RULES', group => group.rules.flatMap(name => shown.get(name) ?? []).join(', ') || 'none'],
  ]);
}
