/**
 * `softquota receive-pack`: becomes hooks/receive-pack/git, which ssh and web servers are better given
 * themselves.
 */

import { accessSync, constants } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { SoftquotaError } from '../errors.ts';
import { hooksDirectory } from '../githooks/index.ts';
import { withUnreadConfigOption } from './settings.ts';

export function addReceivePack(program: Command): void {
  withUnreadConfigOption(program.command('receive-pack'))
    .summary("git receive-pack that stops an over-limit owner's upload at once")
    .description(
      'Is git receive-pack, but that a push that brings something to an owner over the limit ends after a few ' +
        "kilobytes, with the words of the pre-receive hook. All other arguments are git's. What runs is the shell " +
        "script hooks/receive-pack/git of this package, which a server's configuration is better given itself: " +
        'it takes no time to start. See docs/receive-pack.md.',
    )
    .usage("[git's arguments]")
    .argument('[arguments...]')
    .allowUnknownOption()
    .addHelpText('after', "\nExit status: git's.")
    .action((args: readonly string[]) => {
      const git = fileURLToPath(new URL('receive-pack/git', hooksDirectory));
      try {
        accessSync(git, constants.X_OK);
      } catch (cause) {
        throw new SoftquotaError('configuration', `${git} cannot be run: is the package whole?`, { cause });
      }
      if (process.execve === undefined)
        throw new SoftquotaError(
          'configuration',
          'this system lets no program become another: it has no execve',
        );
      process.execve(git, [git, 'receive-pack', ...args], process.env);
    });
}
