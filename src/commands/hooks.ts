/** `softquota hooks`: installs the git hooks, shows their status, removes them. */

import { type Command, Option } from 'commander';
import type { Exit } from './exit.ts';
import { type HooksTask, type InstallTaskOptions, rootsHelp, type TargetOptions } from './hooks-task.ts';
import { runJob } from './job.ts';
import { type Printed, printOutcome } from './printed.ts';
import {
  type ConfigOption,
  withConfigOption,
  withJsonOption,
  withUnreadConfigOption,
  wrapped,
} from './settings.ts';

const exitStatuses =
  '\nExit status: 0 all hooks are installed and git runs them, 1 some are not, 69 a disk does not answer, and everything else was done.';
const gitoliteHelp =
  "use gitolite's repositories; HOME is the home directory of its user; default: found automatically";

export function addHooks(program: Command, exit: Exit): void {
  const hooks = program
    .command('hooks')
    .summary('install the git hooks')
    .description(
      'Manages the hooks in bare repositories and in gitolite. They ask before a push is accepted, and notify the daemon after it.',
    );

  withTarget(withConfigOption(hooks.command('install')))
    .summary('install or update the hooks')
    .description(
      'Installs or updates the hooks, and writes the path of the gate into the config of each repository. An ' +
        'existing hook keeps running as pre-receive.d/50-previous. Nothing is written through a symbolic link. ' +
        'A repository gets stubs of some hundred bytes that run one shared file; if its owner cannot read that file, ' +
        'or others may change it, the repository gets whole hooks.\n\n' +
        "In repositories of Gitea, Forgejo and Gogs the hooks lie where the forge's own hooks run them and where it never " +
        'replaces them; a template directory for new repositories is written, with the setting that makes the forge use it.\n\n' +
        'GitLab repositories get no hooks, because GitLab runs only its global ones. With --gitolite the hooks are installed ' +
        'once for gitolite, which links them into every present and future repository.',
    )
    .addHelpText('after', wrapped(exitStatuses))
    .option(
      '--on-error <policy>',
      'decision about a push while the daemon does not answer: allow, deny, or last (the default), which uses the last published list',
    )
    .option(
      '--last-for <age>',
      'how long the last published list is valid: hours or days, such as 24h (the default)',
    )
    .addOption(
      new Option(
        '--shared <dir>',
        'directory of the one file that the stubs in the repositories run, as the git server sees it, where it is ' +
          "also written; default: the package's own file. none: every repository has complete hooks",
      ).env('SOFTQUOTA_SHARED_HOOKS'),
    )
    .option(
      '--template <dir>',
      "directory that a forge copies into its new repositories; default: .softquota/template in the forge's root",
    )
    .action(async (roots: readonly string[], options: InstallTaskOptions) =>
      exit(await hooksJob({ act: 'install', roots, options })),
    );

  withTarget(withConfigOption(hooks.command('status'), 'a configuration; the hooks have to use its SOCKET'))
    .summary('show the status of the hooks')
    .addHelpText('after', wrapped(exitStatuses))
    .action(async (roots: readonly string[], options: ConfigOption & TargetOptions) =>
      exit(await hooksJob({ act: 'status', roots, options })),
    );

  withTarget(withUnreadConfigOption(hooks.command('remove')))
    .summary('remove the hooks')
    .description('Removes the hooks; a hook that was there before is restored.')
    .addHelpText(
      'after',
      wrapped(
        '\nExit status: 0 done, 1 not in all repositories, 69 a disk does not answer, and everything else was done.',
      ),
    )
    .action(async (roots: readonly string[], options: TargetOptions) =>
      exit(await hooksJob({ act: 'remove', roots, options })),
    );
}

function withTarget(command: Command): Command {
  return withJsonOption(command).argument('[roots...]', rootsHelp).option('--gitolite [home]', gitoliteHelp);
}

/** Long enough for a disk that is only slow, where files are changed: that is not to be cut off. */
const changeMs = 30_000;
const lookMs = 10_000;

/** Resolves with the exit status. */
export async function hooksJob(task: HooksTask): Promise<number> {
  const stuckMs = task.act === 'status' ? lookMs : changeMs;
  return printOutcome(await runJob<Printed>({ job: 'hooks', task }, { stuckMs }));
}
