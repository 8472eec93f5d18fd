/** `softquota policy`: all rules and groups, and who is in which, as one file. */

import { resolve } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import { exitCodes } from '../errors.ts';
import { formatCount, printable } from '../text/index.ts';
import { policyFault } from '../wire/index.ts';
import { adminClient, type DaemonClient } from './client.ts';
import type { Exit } from './exit.ts';
import { writeWhole } from './files.ts';
import { printJson } from './output.ts';
import { policyInForce, simulatedPolicy } from './policy-asked.ts';
import { draftOf, policyText, readPolicyFile } from './policy-file.ts';
import { type ImportOptions, importPolicy } from './policy-import.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { faultsText, simulationText } from './simulated.ts';
import { print, printKept, tell } from './streams.ts';

interface JsonOption extends ConfigOption {
  readonly json?: boolean;
}

interface ExportOptions extends ConfigOption {
  readonly users: boolean;
}

const fileHelp = 'the policy as JSON; - is standard input';

export function addPolicy(program: Command, exit: Exit): void {
  const policy = program
    .command('policy')
    .summary('all rules and groups as one file')
    .description(
      'Exports and imports all rules and groups, and who is in which, as one JSON file; tells what is odd about ' +
        'them, and whom another policy would refuse.',
    );

  withConfigOption(policy.command('export'))
    .summary('write the policy to a file')
    .description(
      'Writes all rules and groups, and who is in which, as JSON. The same policy has the same text, so that it can ' +
        'be kept under version control.',
    )
    .argument('[file]', 'where to; default: standard output, as -')
    .option('--no-users', 'leave out who is in which group; an import of that leaves them where they are')
    .action(async (file: string | undefined, options: ExportOptions) => {
      const shown = await policyInForce(clientOf(options));
      const text = policyText(shown, options.users);
      if (file === undefined || file === '-') return printKept(text);
      writeWhole(resolve(file), text, 0o644);
      const { rules, groups } = shown;
      const counts = `${formatCount(rules.length)} rules and ${formatCount(groups.length)} groups`;
      tell(`Exported ${counts} to ${printable(file)}.\n`);
    });

  withJsonOption(withConfigOption(policy.command('import')))
    .summary('put the policy of a file in place of the one in force')
    .description(
      'Shows what the file would change, and who would newly be refused something; then puts it in place of all rules ' +
        'and groups, at once and as a whole. On a terminal it asks before. Where somebody else changes the policy ' +
        'after the difference was shown, nothing is imported. A group for which the file names no users keeps its own.',
    )
    .argument('<file>', `${fileHelp}. Limits are bytes, or sizes such as "10G"`)
    .option('--dry-run', 'only show it')
    .option('--yes', 'do not ask')
    .option('--create-users', 'create the users that are not known; [users] AUTO_CREATE = true does it, too')
    .addHelpText(
      'after',
      '\nExit status: 0 imported, or nothing to do, 1 not agreed to, 2 the file cannot be taken.',
    )
    .action(async (file: string, options: ImportOptions & ConfigOption) =>
      exit(await importPolicy(clientOf(options), file, options)),
    );

  withJsonOption(withConfigOption(policy.command('lint')))
    .summary('tell what is odd about the policy')
    .description(
      'Tells what is allowed to stand but hardly meant: rules that never decide, groups that are empty or unused, ' +
        'missing default groups, kinds of data that no rule covers. With a file, of the policy as it would be.',
    )
    .argument('[file]', fileHelp)
    .addHelpText('after', '\nExit status: 0 nothing is odd, 1 something is.')
    .action(async (file: string | undefined, options: JsonOption) => {
      const client = clientOf(options);
      const faults =
        file === undefined
          ? z.array(policyFault).parse(await client.get({ path: '/admin/quota/lint' }))
          : (await simulatedPolicy(client, draftOf(readPolicyFile(file)))).lint;
      if (options.json === true) printJson(faults);
      else print(faultsText(faults));
      exit(faults.length === 0 ? exitCodes.done : exitCodes.refused);
    });

  withJsonOption(withConfigOption(policy.command('simulate')))
    .summary('tell whom a policy would refuse or allow')
    .description(
      'Tells who would newly be refused or allowed something by the policy of a file, and what is odd about it. Nothing ' +
        'is changed. What the file leaves out stays as it is. It may have settings of app.ini to try, too:\n\n' +
        '  {"settings": {"total": "10G", "default_groups": ["free"],\n' +
        '                "refuse_when": "reached", "uncovered": "deny"}}',
    )
    .argument('<file>', `${fileHelp}. Limits are bytes, or sizes such as "10G"`)
    .action(async (file: string, options: JsonOption) => {
      const told = await simulatedPolicy(clientOf(options), draftOf(readPolicyFile(file)));
      if (options.json === true) printJson(told);
      else print(`${simulationText(told)}${told.lint.length === 0 ? '' : `\n${faultsText(told.lint)}`}`);
    });
}

function clientOf(options: ConfigOption): DaemonClient {
  return adminClient(() => configFrom(options));
}
