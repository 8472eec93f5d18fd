/** `softquota hooks`: installs the git hooks, shows their status, removes them. */

import { Option } from 'commander';
import { type AddCommand, type ApiCommand, apiCommand, resource } from './api-command.ts';
import { type HooksOptions, type HooksTask, type Printed, printOutcome, rootsHelp, runJob } from './job.ts';
import { unreadConfig } from './settings.ts';

const exitStatuses =
  '\nExit status: 0 all hooks are installed and git runs them, 1 some are not, 69 a disk does not answer, and everything else was done.';
const gitoliteHelp =
  "use gitolite's repositories; HOME is the home directory of its user; default: found automatically";

export const addHooks = resource('hooks', {
  summary: 'install the git hooks',
  description:
    'Manages the hooks in bare repositories and in gitolite. They ask the daemon before a push is accepted, and notify it afterwards.',
  commands: [
    hooksCommand('install', {
      summary: 'install or update the hooks',
      description:
        'Installs or updates the hooks, with the settings in their head. Hooks of earlier versions are replaced. An ' +
        'existing hook keeps running as pre-receive.d/50-previous. Nothing is written through a symbolic link.\n\n' +
        "In repositories of Gitea, Forgejo and Gogs the hooks lie where the forge's own hooks run them and where it never " +
        'replaces them; a template directory for new repositories is written, with the setting that makes the forge use it. ' +
        'With --gitolite the hooks are installed once for gitolite, which links them into every present and future ' +
        'repository. GitLab runs only the hooks of one directory: --gitlab.',
      after: exitStatuses,
      options: [
        new Option('--socket <path>', "the gate's socket; default: [server] SOCKET of the configuration"),
        new Option(
          '--client <program>',
          'the program that asks: nc (of OpenBSD) or curl; default: the quickest that works',
        ),
        new Option(
          '--on-error <policy>',
          'decision about a push while the daemon does not answer: allow, deny, or last (the default), which uses the last published list',
        ),
        new Option(
          '--last-for <age>',
          'how long the last published list is valid: hours or days, such as 24h (the default)',
        ),
        new Option('--gitlab <dir>', "also install them into custom_hooks_dir of GitLab's Gitaly"),
        new Option('--hooks-path <dir>', 'also install them into a directory for core.hooksPath'),
        new Option('--programs <dir>', 'also write upload, quota and receive-pack into a directory'),
      ],
    }),
    hooksCommand('status', {
      summary: 'show the status of the hooks',
      description: 'Shows the hooks of each repository; without a path, of those that app.ini names.',
      config: 'a configuration; the hooks have to use its SOCKET',
      after: exitStatuses,
    }),
    hooksCommand('remove', {
      summary: 'remove the hooks',
      description: 'Removes the hooks; a hook that was there before is restored.',
      config: unreadConfig,
      after:
        '\nExit status: 0 done, 1 not in all repositories, 69 a disk does not answer, and everything else was done.',
    }),
  ],
});

function hooksCommand(
  act: HooksTask['act'],
  { options = [], ...entry }: ApiCommand<never, HooksOptions>,
): AddCommand {
  return apiCommand<never, HooksOptions>(`${act} [roots...]`, {
    ...entry,
    arguments: [rootsHelp],
    options: [new Option('--gitolite [home]', gitoliteHelp), ...options],
    run: (given, roots) => hooksJob({ act, roots, options: given }),
  });
}

/** Resolves with the exit status. */
export async function hooksJob(task: HooksTask): Promise<number> {
  return printOutcome(await runJob<Printed>({ job: 'hooks', task }));
}
