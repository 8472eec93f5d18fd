/**
 * `softquota receive-pack`: becomes hooks/receive-pack/git, which ssh and web servers are better given
 * themselves.
 */

import { accessSync, constants } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { SoftquotaError } from '../errors.ts';
import { hooksDirectory } from '../git/index.ts';
import { withUnreadConfigOption, wrapped } from './settings.ts';

export function addReceivePack(program: Command): void {
  withUnreadConfigOption(program.command('receive-pack'))
    .summary("run git receive-pack, and stop an over-limit owner's upload early")
    .description(
      'Wraps git receive-pack. If the owner is over the limit, a push that adds data ends after a few kilobytes, with ' +
        'the message of the pre-receive hook. All arguments go to git. The command runs the shell script ' +
        "hooks/receive-pack/git of this package. In a server's configuration, use the script itself, because it " +
        'starts faster. See docs/receive-pack.md.',
    )
    .usage("[git's arguments]")
    .argument('[arguments...]')
    .allowUnknownOption()
    .addHelpText('after', wrapped('\nExit status: the exit status of git.'))
    .action((args: readonly string[]) => {
      const git = fileURLToPath(new URL('receive-pack/git', hooksDirectory));
      try {
        accessSync(git, constants.X_OK);
      } catch (cause) {
        throw new SoftquotaError('configuration', `${git} cannot be run: is the package complete?`, {
          cause,
        });
      }
      if (process.execve === undefined)
        throw new SoftquotaError('configuration', 'this system has no execve, which this command needs');
      process.execve(git, [git, 'receive-pack', ...args], process.env);
    });
}
