/** `softquota sign-in-link`: a link that signs a browser in without a token. */

import type { Command } from 'commander';
import { adminClient, pathStep } from './client.ts';
import type { Exit } from './exit.ts';
import { jsonText } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { printKept } from './streams.ts';

interface LinkOptions extends ConfigOption {
  readonly user: string;
  readonly json?: boolean;
}

export function addSignInLink(program: Command, _exit: Exit): void {
  withJsonOption(withConfigOption(program.command('sign-in-link')))
    .summary('create a link that signs a user in to the web UI')
    .description(
      'Prints only a link on standard output. Opening it in a browser signs in as that user. The link works once, ' +
        'within ten minutes, on the host that created it, and only until its daemon ends.',
    )
    .requiredOption('--user <user>', 'the user to sign in')
    .action(async ({ user, json, ...option }: LinkOptions) => {
      const path = `/users/${pathStep(user)}/sign-in-link`;
      const client = adminClient(() => configFrom(option));
      const link = await client.get<{ readonly url: string }>({ method: 'POST', path });
      await printKept(json === true ? jsonText(link) : `${link.url}\n`);
    });
}
