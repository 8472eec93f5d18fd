/** `softquota sign-in-link`: a browser signed in without a token. */

import type { Command } from 'commander';
import { signInLink } from '../wire/index.ts';
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
    .summary('make a link that signs a user in to the web UI')
    .description(
      'Prints nothing but a link on standard output: who opens it in a browser is signed in as that user. It is\n' +
        'good once and for ten minutes, on the host that made it, until its daemon ends.',
    )
    .requiredOption('--user <user>', 'whom it signs in')
    .action(async ({ user, json, ...option }: LinkOptions) => {
      const path = `/users/${pathStep(user)}/sign-in-link`;
      const client = adminClient(() => configFrom(option));
      const link = signInLink.parse(await client.get({ method: 'POST', path }));
      await printKept(json === true ? jsonText(link) : `${link.url}\n`);
    });
}
