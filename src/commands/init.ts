/**
 * `softquota init`: finds out what lies there, writes a configuration that refuses nothing, and measures
 * once.
 */

import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Exit } from './exit.ts';
import { runJob } from './job.ts';
import { type Printed, printOutcome } from './printed.ts';
import { withJsonOption } from './settings.ts';

interface InitOptions {
  readonly config: string;
  readonly json?: boolean;
}

const stuckMs = 10_000;

export function addInit(program: Command, exit: Exit): void {
  withJsonOption(program.command('init'))
    .summary('find out what lies there, and write a configuration')
    .description(
      'Looks at what lies in a directory: bare repositories with or without directories of owners, gitolite, Gitea,\n' +
        'Forgejo or GitLab. Writes a configuration in MODE = report, which refuses nothing, measures once, and shows\n' +
        'the largest owners, whom a limit would refuse, and what to do next.',
    )
    .argument('[root]', 'where the repositories are; default: the usual places are looked at')
    .option('--config <file>', 'where to write; never over a file that exists', 'app.ini')
    .addHelpText(
      'after',
      '\nOf /etc/softquota/app.ini, written by root, the data go to /var/lib/softquota and the sockets to\n' +
        '/run/softquota; of any other file beside it. A user softquota, if there is one, is given the data.\n' +
        '\nExit status: 0 done, 69 a disk does not answer, and all else was done.',
    )
    .action(async (root: string | undefined, options: InitOptions) => {
      const job = {
        job: 'init',
        root: root === undefined ? null : resolve(root),
        config: resolve(options.config),
        json: options.json === true,
      } as const;
      exit(await printOutcome(await runJob<Printed>(job, { stuckMs })));
    });
}
