/** `softquota hooks`: put the git hooks into repositories, tell how they stand, take them out. */

import type { Command } from 'commander';
import type { Exit } from './exit.ts';
import { type HooksTask, type InstallTaskOptions, rootsHelp, type TargetOptions } from './hooks-task.ts';
import { runJob } from './job.ts';
import { type Printed, printOutcome } from './printed.ts';
import { type ConfigOption, withConfigOption, withJsonOption, withUnreadConfigOption } from './settings.ts';

const exitStatuses =
  '\nExit status: 0 all installed and reached, 1 some are not, 69 a disk does not answer, and all else was done.';
const gitoliteHelp = "gitolite's repositories instead; HOME is its user's, looked for unless given";

export function addHooks(program: Command, exit: Exit): void {
  const hooks = program
    .command('hooks')
    .summary('put the git hooks into repositories')
    .description('Puts the hooks that ask before a push and tell after it into bare repositories.');

  withTarget(withConfigOption(hooks.command('install')))
    .summary('install or update the hooks')
    .description(
      'Installs or updates the hooks, and writes where the gate is into each repository. A hook that is there\n' +
        'goes on as pre-receive.d/50-previous; nothing is written through a link. Repositories of GitLab get none:\n' +
        'it runs no hook of a repository. With --gitolite they go where gitolite links them from into every\n' +
        'repository, those to come included.',
    )
    .addHelpText('after', exitStatuses)
    .option(
      '--on-error <policy>',
      'what a push may when the daemon cannot be asked: allow, deny, or last, as it last published (the default)',
    )
    .option(
      '--last-for <age>',
      'how long what it last published counts: hours or days, such as 24h (the default)',
    )
    .action(async (roots: readonly string[], options: InstallTaskOptions) =>
      exit(await hooksJob({ act: 'install', roots, options })),
    );

  withTarget(
    withConfigOption(hooks.command('status'), 'a configuration, at whose SOCKET the hooks have to ask'),
  )
    .summary('tell how the hooks stand')
    .addHelpText('after', exitStatuses)
    .action(async (roots: readonly string[], options: ConfigOption & TargetOptions) =>
      exit(await hooksJob({ act: 'status', roots, options })),
    );

  withTarget(withUnreadConfigOption(hooks.command('remove')))
    .summary('take the hooks out again')
    .description('Takes the hooks out; a hook that was there before them returns to its place.')
    .addHelpText(
      'after',
      '\nExit status: 0 done, 1 not in all, 69 a disk does not answer, and all else was done.',
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

async function hooksJob(task: HooksTask): Promise<number> {
  const stuckMs = task.act === 'status' ? lookMs : changeMs;
  return printOutcome(await runJob<Printed>({ job: 'hooks', task }, { stuckMs }));
}
