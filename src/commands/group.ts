/** `softquota group`: rules put together, and the users and organizations that they are for. */

import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import { formatCount, printable } from '../text/index.ts';
import type { Group, User, WholePolicy } from '../wire/index.ts';
import { type ApiCall, adminClient, createUnlessSame, type DaemonClient, pathStep } from './client.ts';
import type { Exit } from './exit.ts';
import { gathered, limitShown, ruleText } from './limits.ts';
import { printJson } from './output.ts';
import { policyInForce } from './policy-asked.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { print } from './streams.ts';
import { table } from './table.ts';

interface JsonOption extends ConfigOption {
  readonly json?: boolean;
}

interface CreateOptions extends JsonOption {
  readonly rule?: readonly string[];
}

const groupsPath = '/admin/quota/groups';

export function addGroup(program: Command, _exit: Exit): void {
  const groups = program
    .command('group')
    .summary('sets of rules, and their members')
    .description(
      'Shows and changes groups. A group has rules, and applies to the users and organizations that are its members. ' +
        '[quota] DEFAULT_GROUPS apply to everybody who is in no group. If an owner has several groups, it is enough that one of them allows an action.',
    );

  withJsonOption(withConfigOption(groups.command('list')))
    .summary('list groups')
    .action(async (options: JsonOption) => {
      const client = clientOf(options);
      if (options.json === true) {
        return printJson(await client.get<readonly Group[]>({ path: groupsPath }));
      }
      print(groupsTable(await policyInForce(client)));
    });

  withJsonOption(withConfigOption(groups.command('show')))
    .summary('show a group with its rules and members')
    .argument('<group>', 'the name of the group')
    .action(async (name: string, options: JsonOption) => {
      const client = clientOf(options);
      const shown = await client.get<Group>({ path: pathOf(name) });
      const members = await client.get<readonly User[]>({ path: `${pathOf(name)}/users` });
      const users = members.map(({ username }) => username);
      if (options.json === true) printJson({ ...shown, users });
      else print(groupText(shown, users));
    });

  withJsonOption(withConfigOption(groups.command('create')))
    .summary('create a group')
    .argument('<group>', 'the name of the group')
    .option('--rule <rule>', 'a rule of the group; may be given several times', gathered)
    .action(async (name: string, { rule = [], ...options }: CreateOptions) => {
      const body = { name, rules: rule.map(each => ({ name: each })) };
      const call = { method: 'POST', path: groupsPath, body } as const;
      const { isNew, value: created } = await createUnlessSame<Group>(clientOf(options), call, {
        path: () => pathOf(name),
        isSame: found => isDeepStrictEqual(found.rules.map(each => each.name).toSorted(), rule.toSorted()),
      });
      if (options.json === true) return printJson(created);
      if (!isNew) return print(`${printable(`There is already the same group ${created.name}.`)}\n`);
      const rules = created.rules.map(each => each.name).join(', ');
      const having =
        rules === '' ? ' without rules; add one with softquota group add-rule' : ` with ${rules}`;
      print(`${printable(`Created group ${created.name}${having}.`)}\n`);
    });

  withConfigOption(groups.command('delete'))
    .summary('delete a group')
    .description('Deletes a group and its memberships. Its rules remain.')
    .argument('<group>', 'the name of the group')
    .action((name: string, options: ConfigOption) =>
      done(options, { method: 'DELETE', path: pathOf(name) }, `Deleted group ${name}.`),
    );

  withConfigOption(groups.command('add-rule'))
    .summary('add a rule to a group')
    .argument('<group>', 'the name of the group')
    .argument('<rule>', 'the name of an existing rule')
    .action((name: string, rule: string, options: ConfigOption) =>
      done(options, { method: 'PUT', path: rulePath(name, rule) }, `Added rule ${rule} to group ${name}.`),
    );

  withConfigOption(groups.command('remove-rule'))
    .summary('remove a rule from a group')
    .description('Removes a rule from a group. The rule itself remains.')
    .argument('<group>', 'the name of the group')
    .argument('<rule>', 'the name of a rule of the group')
    .action((name: string, rule: string, options: ConfigOption) =>
      done(
        options,
        { method: 'DELETE', path: rulePath(name, rule) },
        `Removed rule ${rule} from group ${name}.`,
      ),
    );

  withConfigOption(groups.command('add-user'))
    .summary('add a user or an organization to a group')
    .description(
      'Adds a user or an organization to a group. It stays in its other groups. An unknown user is created if ' +
        '[users] AUTO_CREATE = true.',
    )
    .argument('<group>', 'the name of the group')
    .argument('<user>', 'the name of a user or an organization')
    .action((name: string, who: string, options: ConfigOption) =>
      done(options, { method: 'PUT', path: userPath(name, who) }, `Added ${who} to group ${name}.`),
    );

  withConfigOption(groups.command('remove-user'))
    .summary('remove a user or an organization from a group')
    .argument('<group>', 'the name of the group')
    .argument('<user>', 'the name of a user or an organization in the group')
    .action((name: string, who: string, options: ConfigOption) =>
      done(options, { method: 'DELETE', path: userPath(name, who) }, `Removed ${who} from group ${name}.`),
    );
}

function clientOf(options: ConfigOption): DaemonClient {
  return adminClient(() => configFrom(options));
}

async function done(options: ConfigOption, call: ApiCall, words: string): Promise<void> {
  await clientOf(options).get(call);
  print(`${printable(words)}\n`);
}

function pathOf(name: string): string {
  return `${groupsPath}/${pathStep(name)}`;
}

function rulePath(name: string, rule: string): string {
  return `${pathOf(name)}/rules/${pathStep(rule)}`;
}

function userPath(name: string, who: string): string {
  return `${pathOf(name)}/users/${pathStep(who)}`;
}

function groupsTable({ groups, rules }: WholePolicy): string {
  if (groups.length === 0) return 'No groups. Create one with softquota group create.\n';
  const byName = new Map(rules.map(rule => [rule.name, rule]));
  return table(
    [{ title: 'GROUP' }, { title: 'USERS', align: 'right' }, { title: 'RULES' }],
    groups.map(each => [
      each.name,
      formatCount(each.users.length),
      each.rules
        .flatMap(name => byName.get(name) ?? [])
        .map(
          ({ name, limit, mode }) =>
            `${name} (${limitShown(limit)}${mode === 'report' ? ', only reported' : ''})`,
        )
        .join(', ') || 'none',
    ]),
  );
}

function groupText({ name, rules }: Group, users: readonly string[]): string {
  const lines = [
    rules.length === 0 ? `${name} has no rules, so it neither allows nor refuses anything.` : `${name} has:`,
    ...rules.map(rule => `  ${rule.name}: ${ruleText(rule)}`),
    `Members: ${users.join(', ') || 'none'}`,
  ];
  return `${lines.map(printable).join('\n')}\n`;
}
