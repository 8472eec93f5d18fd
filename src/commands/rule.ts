/** `softquota rule` and `softquota group`: limits on kinds of data, and sets of them with their members. */

import { isDeepStrictEqual } from 'node:util';
import { Option } from 'commander';
import { SoftquotaError } from '../errors.ts';
import { isSubject, ruleScopes, subjects, withAncestors } from '../quota/index.ts';
import { formatBytes, formatCount, formatUse, printable } from '../text.ts';
import type { Group, GroupUsage, Rule, User, WholePolicy } from '../wire/index.ts';
import { apiCommand, gathered, resource } from './api-command.ts';
import { type Created, createUnlessSame, pathStep, policyInForce, withQuery } from './client.ts';
import {
  graceMostOption,
  graceOption,
  limitOf,
  limitShown,
  modeHelp,
  modeOption,
  modeWords,
  ruleText,
  scopeOption,
  scopeWords,
  stateWords,
  subjectsOf,
  termsText,
  warnAtOption,
} from './limits.ts';
import { type Column, escapedLines, table, textsIn } from './output.ts';
import { countOf } from './settings.ts';

interface RuleOptions {
  readonly limit?: string;
  readonly subject?: readonly string[];
  readonly grace?: string;
  readonly graceMost?: string;
  readonly mode?: string;
  readonly per?: string;
  readonly warnAt?: string;
}

const limitHelp = 'a size: 500M, 10G, 1.5GiB; 0 allows nothing, -1 is unlimited';
const subjectHelp =
  'a kind of data: size:all, size:git:lfs ...; for several, counted together, use commas or repeat the option';

const graceHelp =
  'how long an owner over the limit is warned before refusals begin: 7d, 12h; none; default: as configured';
const graceMostHelp =
  'how far usage may exceed the limit during the grace: "10 %" of the limit, or a size; default: as configured';

const perHelp = `the thing that it limits: ${ruleScopes.join(', ')}; owner, unless given`;

const warnAtHelp =
  'percentages of the limit at which is warned: 50,80; none; default: as [quota] WARN_AT says';

const termOptions = [
  new Option('--per <scope>', perHelp),
  new Option('--grace <duration>', graceHelp),
  new Option('--grace-most <most>', graceMostHelp),
  new Option('--mode <mode>', modeHelp),
  new Option('--warn-at <percentages>', warnAtHelp),
];

const subjectsHelp = `\nSubjects:${[...subjects, 'none']
  .map(name => `\n${'  '.repeat(isSubject(name) ? withAncestors(name).length : 1)}${name}`)
  .join('')}`;

const ruleHelp = 'the name of the rule';
const list = '/admin/quota/rules';

export const addRule = resource('rule', {
  summary: 'limits on kinds of data',
  description:
    'Shows and changes rules. A rule limits the bytes of some kinds of data, counted together. A rule limits ' +
    'nobody by itself: add it to a group, and add users to the group. For example:\n\n' +
    '  softquota rule create total --limit 10G --subject size:all\n' +
    '  softquota group create free --rule total\n' +
    '  softquota group add-user free alice',
  commands: [
    apiCommand<WholePolicy>('list', {
      summary: 'list rules',
      ask: policyInForce,
      json: ({ rules }) => rules,
      text: rulesTable,
    }),
    apiCommand<Rule & { groups: readonly string[] }>('show <rule>', {
      summary: 'show a rule and its groups',
      arguments: [ruleHelp],
      ask: async (client, _, name: string) => {
        const shown = await client.get<Rule>({ path: `${list}/${pathStep(name)}` });
        return { ...shown, groups: groupsWith(await policyInForce(client), name) };
      },
      text: ({ groups, ...rule }) => [
        `${rule.name}: ${ruleText(rule)}.`,
        groups.length === 0
          ? 'No group has this rule, so it limits nobody.'
          : `Groups with this rule: ${groups.join(', ')}.`,
      ],
    }),
    apiCommand<Created<Rule>, RuleOptions>('create <rule>', {
      summary: 'create a rule',
      description: 'Creates a rule. It limits nobody until it is in a group.',
      arguments: [ruleHelp],
      options: [
        ...termOptions,
        new Option('--limit <size>', limitHelp).makeOptionMandatory(),
        new Option('--subject <subject>', subjectHelp).argParser(gathered).makeOptionMandatory(),
      ],
      after: subjectsHelp,
      ask: (client, options, name: string) => {
        const fields = fieldsOf(options);
        const body = { name, ...fields };
        return createUnlessSame<Rule>(client, { list, name, body, isSame: found => isAs(found, fields) });
      },
      json: ({ value }) => value,
      text: ({ isNew, value }) => [
        `${isNew ? 'Created rule' : 'There is already the same rule'} ${value.name}: ${ruleText(value)}.`,
      ],
    }),
    apiCommand<Rule, RuleOptions>('edit <rule>', {
      summary: 'change a rule',
      description: 'Changes a rule in every group that has it. Everything else stays the same.',
      arguments: [ruleHelp],
      options: [
        ...termOptions,
        new Option('--limit <size>', limitHelp),
        new Option('--subject <subject>', `${subjectHelp}; they replace the present subjects`).argParser(
          gathered,
        ),
      ],
      after: subjectsHelp,
      route: 'PATCH /admin/quota/rules/{rule}',
      body: options => {
        const fields = fieldsOf(options);
        if (Object.values(fields).some(value => value !== undefined)) return fields;
        throw new SoftquotaError(
          'usage',
          'nothing to change: give --limit, --subject, --per, --grace, --grace-most, --mode or --warn-at',
        );
      },
      text: rule => [`Rule ${rule.name} is now: ${ruleText(rule)}.`],
    }),
    apiCommand('delete <rule>', {
      summary: 'delete a rule',
      description: 'Deletes a rule, and removes it from every group.',
      arguments: [ruleHelp],
      route: 'DELETE /admin/quota/rules/{rule}',
      done: 'Deleted rule {rule}.',
    }),
  ],
});

type SentFields = ReturnType<typeof fieldsOf>;

/** Returns true if a rule is as these fields would create it; omitted fields stand for the defaults. */
function isAs(found: Rule, { limit, subjects, grace, grace_most: most, ...fields }: SentFields): boolean {
  const { mode, per, warn_at: warnAt } = fields;
  return (
    found.limit === limit &&
    isDeepStrictEqual(found.subjects.toSorted(), subjects?.toSorted()) &&
    (found.grace ?? 'default') === (grace ?? 'default') &&
    (found.grace_most ?? 'default') === (most ?? 'default') &&
    (found.mode ?? 'enforce') === (mode ?? 'enforce') &&
    found.per === (per ?? 'owner') &&
    isDeepStrictEqual(found.warn_at ?? 'default', warnAt ?? 'default')
  );
}

function fieldsOf({ limit, subject, grace, graceMost, mode, per, warnAt }: RuleOptions) {
  return {
    limit: limit === undefined ? undefined : limitOf(limit),
    subjects: subject === undefined ? undefined : subjectsOf(subject),
    grace: grace === undefined ? undefined : graceOption(grace),
    grace_most: graceMost === undefined ? undefined : graceMostOption(graceMost),
    mode: mode === undefined ? undefined : modeOption(mode),
    per: per === undefined ? undefined : scopeOption(per),
    warn_at: warnAt === undefined ? undefined : warnAtOption(warnAt),
  };
}

function groupsWith({ groups }: WholePolicy, name: string): readonly string[] {
  return groups.filter(({ rules }) => rules.includes(name)).map(group => group.name);
}

function rulesTable(policy: WholePolicy): string {
  if (policy.rules.length === 0) {
    return 'No rules: only [quota.default] TOTAL limits. Create one with softquota rule create.\n';
  }
  return table(policy.rules, [
    ['RULE', rule => rule.name],
    ['LIMIT', rule => [limitShown(rule.limit), ...termsText(rule)].join(', '), 'right'],
    ['OF', ({ subjects, per }) => `${subjects.join(', ')}${per === 'owner' ? '' : ` ${scopeWords[per]}`}`],
    ['IN GROUPS', rule => groupsWith(policy, rule.name).join(', ') || '-'],
  ]);
}

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
