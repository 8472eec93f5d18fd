/** `softquota init`: examines a directory, writes a configuration that refuses nothing, measures once. */

import { Option } from 'commander';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { apiCommand } from './api-command.ts';
import type { Initialised } from './init-work.ts';
import { type InitOptions, printOutcome, runJob } from './job.ts';

export const addInit = apiCommand<never, InitOptions>('init [root]', {
  summary: 'examine a directory, and write a configuration',
  description:
    'Recognises the contents of a directory: bare repositories with or without owner directories, gitolite, Gitea, ' +
    'Forgejo, Gogs or GitLab, whose databases it also reads. Writes a configuration with MODE = report, which refuses ' +
    'nothing, measures once, and shows the largest owners, the owners that a limit would refuse, and the next steps.',
  arguments: ['the directory with the repositories; default: the usual directories are tried'],
  config: null,
  options: [
    new Option('--config <file>', 'the file to write; an existing file is never overwritten').default(
      'app.ini',
    ),
    new Option(
      '--forge-config <file>',
      "the forge's own app.ini, gitlab.rb or database.yml, if it is not in one of the usual places",
    ),
    new Option(
      '--total <size>',
      'the limit for each owner, such as 10G; default: a suggestion from the figures',
    ),
    new Option(
      '--enforce',
      'write MODE = enforce: owners over the limit are refused as soon as the hooks are installed',
    ),
    new Option(
      '--hooks',
      'also install the hooks, as softquota hooks install does; with --worker also write KEEP = true',
    ).conflicts('json'),
    new Option(
      '--worker',
      'also set the worker up, for the user that the repositories belong to, and write GARBAGE = forgive and RUN = gc',
    ),
  ],
  after:
    '\nIf root writes /etc/softquota/app.ini, the data is in /var/lib/softquota and the sockets are in ' +
    '/run/softquota; with any other file they are next to it. If a user softquota exists, it gets the data.\n' +
    '\nExit status: 0 done, 69 a disk does not answer, and everything else was done.',
  run: async (options, [root = null]) => {
    const outcome = await runJob<Initialised>({ job: 'init', root, options });
    const status = printOutcome(outcome);
    if (options.hooks !== true || outcome.result === null || status !== exitCodes.done) return status;
    const { hooks } = outcome.result;
    if (hooks === null)
      throw new SoftquotaError(
        'conflict',
        '--hooks: GitLab runs only its global hooks; see docs/forges/hooks.md',
      );
    const { hooksJob } = await import('./hooks.ts');
    return hooksJob({ act: 'install', ...hooks });
  },
});
