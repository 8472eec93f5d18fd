/** `softquota rule`: limits on kinds of data. */

import { isDeepStrictEqual } from 'node:util';
import { Option } from 'commander';
import { duration, graceMost, percentages } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import {
  isSubject,
  type RuleMode,
  type RuleScope,
  ruleScopes,
  subjects,
  withAncestors,
} from '../quota/index.ts';
import type { Rule, WholePolicy } from '../wire/index.ts';
import { apiCommand, gathered, resource } from './api-command.ts';
import { type Created, createUnlessSame, pathStep, policyInForce } from './client.ts';
import { limitOf, limitShown, optionValue, ruleText, scopeWords, subjectsOf, termsText } from './limits.ts';
import { table } from './output.ts';

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

const modeHelp = 'enforce; report: refusals are only recorded; warn: who passes the limit is only told';

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

/** Reads `--per`. Throws `usage`. */
function scopeOption(text: string): RuleScope {
  const found = ruleScopes.find(scope => scope === text);
  if (found !== undefined) return found;
  throw new SoftquotaError('usage', `--per ${text}: write one of ${ruleScopes.join(', ')}`);
}

const asConfigured = 'default';

/** Reads `--grace`: seconds, or `default`. Throws `usage`. */
function graceOption(text: string): number | typeof asConfigured {
  if (text === asConfigured) return text;
  if (text === 'none') return 0;
  const expected = 'write a whole number and s, m, h, d or w, such as 7d, or none, or default';
  return optionValue('--grace', text, duration.parse(text), expected) / 1000;
}

/** Reads `--grace-most`. Throws `usage`. */
function graceMostOption(text: string): string {
  if (text === asConfigured) return text;
  const expected = 'write a percentage of the limit, such as "10 %", a size, such as 5G, or default';
  return graceMost.print(optionValue('--grace-most', text, graceMost.parse(text), expected));
}

/** Reads `--warn-at`: percentages, or `default`. Throws `usage`. */
function warnAtOption(text: string): readonly number[] | typeof asConfigured {
  if (text === asConfigured) return text;
  if (text === 'none') return [];
  const expected =
    'write whole percentages from 1 to 100 with commas between, such as 50,80, or none, or default';
  const parsed = optionValue('--warn-at', text, percentages.parse(text), expected);
  if (parsed.length > 0) return [...parsed].sort((a, b) => a - b);
  throw new SoftquotaError('usage', `--warn-at ${text}: no percentage; ${expected}`);
}

/** Reads `--mode`. Throws `usage`. */
function modeOption(text: string): 'enforce' | RuleMode {
  if (text === 'enforce' || text === 'report' || text === 'warn') return text;
  throw new SoftquotaError('usage', `--mode ${text}: write enforce, report or warn`);
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
