/** `softquota rule`: limits, each on some kinds of data. */

import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import { z } from 'zod';
import { SoftquotaError } from '../errors.ts';
import { isSubject, subjects, withAncestors } from '../quota/index.ts';
import { printable } from '../text/index.ts';
import { type Rule, rule, type WholePolicy } from '../wire/index.ts';
import { adminClient, createUnlessSame, type DaemonClient, pathStep } from './client.ts';
import type { Exit } from './exit.ts';
import { gathered, limitOf, limitShown, ruleText, subjectsOf } from './limits.ts';
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
}

const limitHelp = 'a size: 500M, 10G, 1.5GiB; 0 allows nothing, -1 is unlimited';
const subjectHelp =
  'a kind of data: size:all, size:git:lfs ...; for several, counted together, use commas or repeat the option';

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
      printJson(z.array(rule).parse(await client.get({ path: '/admin/quota/rules' })));
    });

  withJsonOption(withConfigOption(rules.command('show')))
    .summary('show a rule and its groups')
    .argument('<rule>', 'the name of the rule')
    .action(async (name: string, options: JsonOption) => {
      const client = clientOf(options);
      const shown = rule.parse(await client.get({ path: pathOf(name) }));
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

  withJsonOption(withConfigOption(rules.command('create')))
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
      const { limit, subjects } = call.body;
      const { isNew, value: created } = await createUnlessSame(clientOf(options), call, {
        path: () => pathOf(name),
        schema: rule,
        isSame: found =>
          found.limit === limit && isDeepStrictEqual(found.subjects.toSorted(), subjects?.toSorted()),
      });
      if (options.json === true) return printJson(created);
      const verb = isNew ? 'Created rule' : 'There is already the same rule';
      print(`${verb} ${printable(created.name)}: ${ruleText(created)}.\n`);
    });

  withJsonOption(withConfigOption(rules.command('edit')))
    .summary('change a rule')
    .description('Changes a rule in every group that has it. What no option names stays the same.')
    .argument('<rule>', 'the name of the rule')
    .option('--limit <size>', limitHelp)
    .option('--subject <subject>', `${subjectHelp}; they replace the present subjects`, gathered)
    .addHelpText('after', subjectsHelp)
    .action(async (name: string, options: RuleOptions) => {
      const body = fieldsOf(options);
      if (Object.keys(body).length === 0) {
        throw new SoftquotaError('usage', 'nothing to change: give --limit, --subject, or both');
      }
      const edited = rule.parse(await clientOf(options).get({ method: 'PATCH', path: pathOf(name), body }));
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

function fieldsOf({ limit, subject }: RuleOptions): Partial<Pick<Rule, 'limit' | 'subjects'>> {
  return {
    ...(limit === undefined ? {} : { limit: limitOf(limit) }),
    ...(subject === undefined ? {} : { subjects: subjectsOf(subject) }),
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
    policy.rules.map(({ name, limit, subjects }) => [
      name,
      limitShown(limit),
      subjects.join(', '),
      groupsWith(policy, name).join(', ') || '-',
    ]),
  );
}
