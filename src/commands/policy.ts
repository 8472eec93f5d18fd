/** `softquota policy`: all rules and groups, and who is in which, as one file. */

import { resolve } from 'node:path';
import { Option } from 'commander';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { counted, printable } from '../text.ts';
import type { LintFault, NewWholePolicy, Simulation } from '../wire/index.ts';
import { apiCommand, resource } from './api-command.ts';
import { policyInForce } from './client.ts';
import { writeWhole } from './files.ts';
import { policyOfForgejo } from './forgejo.ts';
import { draftOf, faultsText, lintFile, policyText, readPolicyFile } from './policy-file.ts';
import {
  type ImportOptions,
  importPolicy,
  policyInFile,
  simulatedPolicy,
  simulationText,
} from './policy-import.ts';
import { type ConfigOption, clientFrom } from './settings.ts';
import { printKept, tell } from './streams.ts';

interface FromForgejo {
  readonly from?: string;
  readonly tokenFile?: string;
}

const fileHelp = 'the policy as JSON; - is standard input';

export const addPolicy = resource('policy', {
  summary: 'all rules and groups in one file',
  description:
    'Exports and imports all rules, groups and memberships as one JSON file, checks the policy for mistakes, ' +
    'and shows whom another policy would refuse.',
  commands: [
    apiCommand<never, { users: boolean }>('export [file]', {
      summary: 'write the policy to a file',
      description:
        'Writes all rules, groups and memberships as JSON. The same policy always gives the same text, so you can ' +
        'keep the file under version control.',
      arguments: ['the file to write; default: standard output, also as -'],
      options: [
        new Option(
          '--no-users',
          'leave out the members of groups; an import of such a file keeps the present members',
        ),
      ],
      hasNoJson: true,
      run: async (options, [file = '-']) => {
        const shown = await policyInForce(clientFrom(options));
        const text = policyText(shown, options.users);
        if (file === '-') {
          printKept(text);
          return exitCodes.done;
        }
        writeWhole(resolve(file), text, 0o644);
        const { rules, groups } = shown;
        const counts = `${counted(rules.length, 'rule', 'rules')} and ${counted(groups.length, 'group', 'groups')}`;
        tell(`Exported ${counts} to ${printable(file)}.\n`);
        return exitCodes.done;
      },
    }),
    apiCommand<never, ImportOptions & FromForgejo>('import [file]', {
      summary: 'replace the policy by the policy in a file, or by that of a Forgejo',
      description:
        'Shows the changes and the owners who would be newly refused, then replaces all rules and groups in one ' +
        'step. On a terminal it asks before. If somebody else changes the policy after the changes were shown, ' +
        'nothing is imported. A group without users in the file keeps its members. With --from, it takes the rules, ' +
        'groups and members of a Forgejo server from its API; [quota] of its app.ini has no route, so set ' +
        'DEFAULT_GROUPS and [quota.default] TOTAL here as there.',
      arguments: [`${fileHelp}. Limits are bytes, or sizes such as "10G"`],
      options: [
        new Option('--from <url>', 'instead of a file: the address of a Forgejo server'),
        new Option(
          '--token-file <file>',
          'a file with a token of an administrator there, with the scope read:admin; - is standard input',
        ),
        new Option('--dry-run', 'only show the changes'),
        new Option('--yes', 'do not ask'),
        new Option('--create-users', 'create unknown users; [users] AUTO_CREATE = true has the same effect'),
      ],
      after: '\nExit status: 0 imported, or nothing to do, 1 you did not agree, 2 the file cannot be used.',
      run: async (options, [file]) =>
        importPolicy(clientFrom(options), await importable(file, options), options),
    }),
    apiCommand<readonly LintFault[], ConfigOption>('lint [file]', {
      summary: 'check the policy for mistakes',
      description:
        'Finds possible mistakes: rules that never decide, empty or unused groups, missing default groups, and kinds ' +
        'of data that no rule covers. With a file, it checks the policy in the file without a daemon, with the settings ' +
        'in the file, else those of app.ini; it cannot check whether the users in the file exist.',
      arguments: [fileHelp],
      after: '\nExit status: 0 no problems found, 1 problems found.',
      find: async (options, file?: string) =>
        file === undefined ? clientFrom(options).get({ path: '/admin/quota/lint' }) : lintFile(file, options),
      text: faultsText,
      status: faults => (faults.length === 0 ? exitCodes.done : exitCodes.refused),
    }),
    apiCommand<Simulation>('simulate <file>', {
      summary: 'show whom a policy would refuse or allow',
      description:
        'Shows the owners who would be newly refused or allowed by the policy in a file, and possible mistakes in it. ' +
        'Nothing is changed. Parts that the file leaves out stay the same. It can also have settings of app.ini to try:\n\n' +
        '  {"settings": {"total": "10G", "default_groups": ["free"],\n' +
        '                "refuse_when": "reached", "uncovered": "deny"}}',
      arguments: [`${fileHelp}. Limits are bytes, or sizes such as "10G"`],
      ask: (client, _, file: string) => simulatedPolicy(client, draftOf(readPolicyFile(file))),
      text: told => `${simulationText(told)}${told.lint.length === 0 ? '' : `\n${faultsText(told.lint)}`}`,
    }),
  ],
});

/** The policy to import. Throws `usage` unless either a file or a server is named. */
async function importable(
  file: string | undefined,
  { from, tokenFile }: FromForgejo,
): Promise<NewWholePolicy> {
  if (file !== undefined && from === undefined) return policyInFile(file);
  if (file === undefined && from !== undefined) return policyOfForgejo(from, tokenFile);
  throw new SoftquotaError('usage', 'expected either a file, or --from with the address of a Forgejo server');
}
