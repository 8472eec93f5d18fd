/**
 * `softquota init`: finds out what lies there, writes a configuration that refuses nothing, and measures
 * once.
 */

import { type Command, Option } from 'commander';
import { exitCodes, SoftquotaError } from '../errors.ts';
import type { Initialised } from './init-work.ts';
import { type InitOptions, printOutcome, runJob } from './job.ts';
import { type Exit, withJsonOption, wrapped } from './settings.ts';

export function addInit(program: Command, exit: Exit): void {
  withJsonOption(program.command('init'))
    .summary('examine a directory, and write a configuration')
    .description(
      'Recognises the contents of a directory: bare repositories with or without owner directories, gitolite, Gitea, ' +
        'Forgejo, Gogs or GitLab, whose databases it also reads. Writes a configuration with MODE = report, which refuses ' +
        'nothing, measures once, and shows the largest owners, the owners that a limit would refuse, and the next steps.',
    )
    .argument('[root]', 'the directory with the repositories; default: the usual directories are tried')
    .option('--config <file>', 'the file to write; an existing file is never overwritten', 'app.ini')
    .option(
      '--forge-config <file>',
      "the forge's own app.ini, gitlab.rb or database.yml, if it is not in one of the usual places",
    )
    .option('--total <size>', 'the limit for each owner, such as 10G; default: a suggestion from the figures')
    .option(
      '--enforce',
      'write MODE = enforce: owners over the limit are refused as soon as the hooks are installed',
    )
    .addOption(
      new Option('--hooks', 'also install the hooks, as softquota hooks install does').conflicts('json'),
    )
    .option(
      '--worker',
      'also set the worker up, for the user that the repositories belong to, and write GARBAGE = forgive',
    )
    .addHelpText(
      'after',
      wrapped(
        '\nIf root writes /etc/softquota/app.ini, the data is in /var/lib/softquota and the sockets are in ' +
          '/run/softquota; with any other file they are next to it. If a user softquota exists, it gets the data.\n' +
          '\nExit status: 0 done, 69 a disk does not answer, and everything else was done.',
      ),
    )
    .action(async (root: string | undefined, options: InitOptions) => {
      const outcome = await runJob<Initialised>({ job: 'init', root: root ?? null, options });
      const status = printOutcome(outcome);
      exit(status);
      if (options.hooks !== true || outcome.result === null || status !== exitCodes.done) return;
      const { hooks } = outcome.result;
      if (hooks === null)
        throw new SoftquotaError(
          'conflict',
          '--hooks: GitLab runs only its global hooks; see docs/forges/hooks.md',
        );
      const { hooksJob } = await import('./hooks.ts');
      exit(await hooksJob({ act: 'install', ...hooks }));
    });
}
