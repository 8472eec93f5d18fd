/** `softquota rule`: limits, each on some kinds of data. */

import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import { SoftquotaError } from '../errors.ts';
import { isSubject, subjects, withAncestors } from '../quota/index.ts';
import { printable } from '../text/index.ts';
import type { Rule, WholePolicy } from '../wire/index.ts';
import { adminClient, createUnlessSame, type DaemonClient, pathStep } from './client.ts';
import type { Exit } from './exit.ts';
import {
  gathered,
  graceMostOption,
  graceOption,
  limitOf,
  limitShown,
  modeHelp,
  modeOption,
  ruleText,
  subjectsOf,
  termsText,
} from './limits.ts';
import { printJson } from './output.ts';
import { policyInForce } from './policy-asked.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { print } from './streams.ts';
import { table } from './table.ts';

interface JsonOption extends ConfigOption {
  readonly json?: boolean;
}

interface RuleOptions extends JsonOption {
  readonly limit?: string;
  readonly subject?: readonly string[];
  readonly grace?: string;
  readonly graceMost?: string;
  readonly mode?: string;
}

const limitHelp = 'a size: 500M, 10G, 1.5GiB; 0 allows nothing, -1 is unlimited';
const subjectHelp =
  'a kind of data: size:all, size:git:lfs ...; for several, counted together, use commas or repeat the option';

const graceHelp =
  'how long an owner over the limit is warned before refusals begin: 7d, 12h; none; default: as configured';
const graceMostHelp =
  'how far usage may exceed the limit during the grace: "10 %" of the limit, or a size; default: as configured';

/** Adds the options that both commands have. */
function withTerms(command: Command): Command {
  return command
    .option('--grace <duration>', graceHelp)
    .option('--grace-most <most>', graceMostHelp)
    .option('--mode <mode>', modeHelp);
}

/** The tree of subjects, indented. */
const subjectsHelp = `\nSubjects:${[...subjects, 'none']
  .map(name => `\n${'  '.repeat(isSubject(name) ? withAncestors(name).length : 1)}${name}`)
  .join('')}`;

export function addRule(program: Command, _exit: Exit): void {
  const rules = program
    .command('rule')
    .summary('limits on kinds of data')
    .description(
      'Shows and changes rules. A rule limits the bytes of some kinds of data, counted together. A rule limits ' +
        'nobody by itself: add it to a group, and add users to the group. For example:\n\n' +
        '  softquota rule create total --limit 10G --subject size:all\n' +
        '  softquota group create free --rule total\n' +
        '  softquota group add-user free alice',
    );

  withJsonOption(withConfigOption(rules.command('list')))
    .summary('list rules')
    .action(async (options: JsonOption) => {
      const client = clientOf(options);
      if (options.json !== true) return print(rulesTable(await policyInForce(client)));
      printJson(await client.get<readonly Rule[]>({ path: '/admin/quota/rules' }));
    });

  withJsonOption(withConfigOption(rules.command('show')))
    .summary('show a rule and its groups')
    .argument('<rule>', 'the name of the rule')
    .action(async (name: string, options: JsonOption) => {
      const client = clientOf(options);
      const shown = await client.get<Rule>({ path: pathOf(name) });
      const groups = groupsWith(await policyInForce(client), name);
      if (options.json === true) return printJson({ ...shown, groups });
      const lines = [
        `${shown.name}: ${ruleText(shown)}.`,
        groups.length === 0
          ? 'No group has this rule, so it limits nobody.'
          : `Groups with this rule: ${groups.join(', ')}.`,
      ];
      print(`${lines.map(printable).join('\n')}\n`);
    });

  withTerms(withJsonOption(withConfigOption(rules.command('create'))))
    .summary('create a rule')
    .description('Creates a rule. It limits nobody until it is in a group.')
    .argument('<rule>', 'the name of the rule')
    .requiredOption('--limit <size>', limitHelp)
    .requiredOption('--subject <subject>', subjectHelp, gathered)
    .addHelpText('after', subjectsHelp)
    .action(async (name: string, options: RuleOptions) => {
      const call = {
        method: 'POST',
        path: '/admin/quota/rules',
        body: { name, ...fieldsOf(options) },
      } as const;
      const { isNew, value: created } = await createUnlessSame<Rule>(clientOf(options), call, {
        path: () => pathOf(name),
        isSame: found => isAs(found, call.body),
      });
      if (options.json === true) return printJson(created);
      const verb = isNew ? 'Created rule' : 'There is already the same rule';
      print(`${verb} ${printable(created.name)}: ${ruleText(created)}.\n`);
    });

  withTerms(withJsonOption(withConfigOption(rules.command('edit'))))
    .summary('change a rule')
    .description('Changes a rule in every group that has it. Everything else stays the same.')
    .argument('<rule>', 'the name of the rule')
    .option('--limit <size>', limitHelp)
    .option('--subject <subject>', `${subjectHelp}; they replace the present subjects`, gathered)
    .addHelpText('after', subjectsHelp)
    .action(async (name: string, options: RuleOptions) => {
      const body = fieldsOf(options);
      if (Object.keys(body).length === 0) {
        throw new SoftquotaError(
          'usage',
          'nothing to change: give --limit, --subject, --grace, --grace-most or --mode',
        );
      }
      const edited = await clientOf(options).get<Rule>({ method: 'PATCH', path: pathOf(name), body });
      if (options.json === true) printJson(edited);
      else print(`Rule ${printable(edited.name)} is now: ${ruleText(edited)}.\n`);
    });

  withConfigOption(rules.command('delete'))
    .summary('delete a rule')
    .description('Deletes a rule, and removes it from every group.')
    .argument('<rule>', 'the name of the rule')
    .action(async (name: string, options: ConfigOption) => {
      await clientOf(options).get({ method: 'DELETE', path: pathOf(name) });
      print(`Deleted rule ${printable(name)}.\n`);
    });
}

function clientOf(options: ConfigOption): DaemonClient {
  return adminClient(() => configFrom(options));
}

function pathOf(name: string): string {
  return `/admin/quota/rules/${pathStep(name)}`;
}

/** The fields of a rule as the API takes them. */
interface SentFields {
  readonly limit?: number;
  readonly subjects?: Rule['subjects'];
  readonly grace?: number | 'default';
  readonly grace_most?: string;
  readonly mode?: 'enforce' | 'report';
}

/** Tells whether a rule is as these fields would make it; what is left out is as usual. */
function isAs(found: Rule, { limit, subjects, grace, grace_most: most, mode }: SentFields): boolean {
  return (
    found.limit === limit &&
    isDeepStrictEqual(found.subjects.toSorted(), subjects?.toSorted()) &&
    (found.grace ?? 'default') === (grace ?? 'default') &&
    (found.grace_most ?? 'default') === (most ?? 'default') &&
    (found.mode ?? 'enforce') === (mode ?? 'enforce')
  );
}

function fieldsOf({ limit, subject, grace, graceMost, mode }: RuleOptions): SentFields {
  return {
    ...(limit === undefined ? {} : { limit: limitOf(limit) }),
    ...(subject === undefined ? {} : { subjects: subjectsOf(subject) }),
    ...(grace === undefined ? {} : { grace: graceOption(grace) }),
    ...(graceMost === undefined ? {} : { grace_most: graceMostOption(graceMost) }),
    ...(mode === undefined ? {} : { mode: modeOption(mode) }),
  };
}

function groupsWith({ groups }: WholePolicy, name: string): readonly string[] {
  return groups.filter(({ rules }) => rules.includes(name)).map(group => group.name);
}

function rulesTable(policy: WholePolicy): string {
  if (policy.rules.length === 0) {
    return 'No rules: only [quota.default] TOTAL limits. Create one with softquota rule create.\n';
  }
  return table(
    [{ title: 'RULE' }, { title: 'LIMIT', align: 'right' }, { title: 'OF' }, { title: 'IN GROUPS' }],
    policy.rules.map(({ name, ...fields }) => [
      name,
      [limitShown(fields.limit), ...termsText(fields)].join(', '),
      fields.subjects.join(', '),
      groupsWith(policy, name).join(', ') || '-',
    ]),
  );
}
