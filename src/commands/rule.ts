/** `softquota rule`: limits, each on some kinds of data. */

import type { Command } from 'commander';
import { z } from 'zod';
import { SoftquotaError } from '../errors.ts';
import { isSubject, subjects, withAncestors } from '../quota/index.ts';
import { printable } from '../text/index.ts';
import { rule, type WholePolicy } from '../wire/index.ts';
import { adminClient, type DaemonClient, pathStep } from './client.ts';
import type { Exit } from './exit.ts';
import { gathered, limitOf, limitShown, ruleText, subjectsOf } from './limits.ts';
import { printJson, table } from './output.ts';
import { policyInForce } from './policy-asked.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { print } from './streams.ts';

interface JsonOption extends ConfigOption {
  readonly json?: boolean;
}

interface RuleOptions extends JsonOption {
  readonly limit?: string;
  readonly subject?: readonly string[];
}

const limitHelp = 'how much: 500M, 10G, 1.5GiB; 0 allows nothing, -1 is unlimited';
const subjectHelp =
  'of what: size:all, size:git:lfs ...; several, counted together, by commas or by the option again';

/** With what each of them holds further in. */
const subjectsHelp = `\nSubjects:${[...subjects, 'none']
  .map(name => `\n${'  '.repeat(isSubject(name) ? withAncestors(name).length : 1)}${name}`)
  .join('')}`;

export function addRule(program: Command, _exit: Exit): void {
  const rules = program
    .command('rule')
    .summary('limits on kinds of data')
    .description(
      'Shows and changes rules. A rule limits the bytes of some kinds of data, counted together. By itself it ' +
        'limits nobody: rules are put into groups, and users into those. A beginning:\n\n' +
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
    .summary('show a rule, and the groups that have it')
    .argument('<rule>', 'its name')
    .action(async (name: string, options: JsonOption) => {
      const client = clientOf(options);
      const shown = rule.parse(await client.get({ path: pathOf(name) }));
      const groups = groupsWith(await policyInForce(client), name);
      if (options.json === true) return printJson({ ...shown, groups });
      const lines = [
        `${shown.name}: ${ruleText(shown)}.`,
        groups.length === 0
          ? 'It is in no group, and limits nobody.'
          : `It is in the groups ${groups.join(', ')}.`,
      ];
      print(`${lines.map(printable).join('\n')}\n`);
    });

  withJsonOption(withConfigOption(rules.command('create')))
    .summary('create a rule')
    .description('Creates a rule. It limits nobody before it is in a group.')
    .argument('<rule>', 'its name')
    .requiredOption('--limit <size>', limitHelp)
    .requiredOption('--subject <subject>', subjectHelp, gathered)
    .addHelpText('after', subjectsHelp)
    .action(async (name: string, options: RuleOptions) => {
      const call = {
        method: 'POST',
        path: '/admin/quota/rules',
        body: { name, ...fieldsOf(options) },
      } as const;
      const created = rule.parse(await clientOf(options).get(call));
      if (options.json === true) printJson(created);
      else print(`Created rule ${printable(created.name)}: ${ruleText(created)}.\n`);
    });

  withJsonOption(withConfigOption(rules.command('edit')))
    .summary('change a rule')
    .description('Changes a rule in every group that has it, and leaves what is not given.')
    .argument('<rule>', 'its name')
    .option('--limit <size>', limitHelp)
    .option('--subject <subject>', `${subjectHelp}; instead of those that there were`, gathered)
    .addHelpText('after', subjectsHelp)
    .action(async (name: string, options: RuleOptions) => {
      const body = fieldsOf(options);
      if (Object.keys(body).length === 0) {
        throw new SoftquotaError('usage', 'nothing is to be changed: give --limit, --subject, or both');
      }
      const edited = rule.parse(await clientOf(options).get({ method: 'PATCH', path: pathOf(name), body }));
      if (options.json === true) printJson(edited);
      else print(`Rule ${printable(edited.name)} is now: ${ruleText(edited)}.\n`);
    });

  withConfigOption(rules.command('delete'))
    .summary('delete a rule')
    .description('Deletes a rule, and takes it out of every group.')
    .argument('<rule>', 'its name')
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

function fieldsOf({ limit, subject }: RuleOptions): Readonly<Record<string, unknown>> {
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
    return 'There is none: [quota.default] TOTAL alone limits. softquota rule create makes one.\n';
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
