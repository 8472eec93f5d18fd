/** `softquota token`: what lets programs and people into the API. */

import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { z } from 'zod';
import { duration } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import { printable } from '../text/index.ts';
import { createdToken, type Token, token, user } from '../wire/index.ts';
import { adminClient, type DaemonClient, pathStep } from './client.ts';
import type { Exit } from './exit.ts';
import { formatTime, jsonText, printJson, table } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { print, printKept, tell } from './streams.ts';

interface UserOption extends ConfigOption {
  readonly user: string;
  readonly json?: boolean;
}

interface CreateOptions extends UserOption {
  readonly admin?: boolean;
  readonly scope?: readonly string[];
  readonly name?: string;
  readonly expires?: string;
}

export function addToken(program: Command, _exit: Exit): void {
  const tokens = program
    .command('token')
    .summary('tokens for the API')
    .description('Makes, lists and revokes the tokens that let a user use the API.');

  withUserOption(tokens.command('create'))
    .summary('make a token')
    .description(
      'Makes a token, and prints nothing but the token on standard output. It is kept nowhere: who loses it makes\n' +
        'another one; one that cannot be printed is revoked. With --admin the user becomes an administrator, and is created where there is none, so\n' +
        'that this makes the first token of a new installation:\n\n' +
        '  softquota token create --user root --admin',
    )
    .option('--admin', 'make the user an administrator, too')
    .option('--scope <scope>', scopeHelp, (scope: string, others: readonly string[] = []) => [
      ...others,
      scope,
    ])
    .option('--name <name>', 'what it is called, once for each user; default: made up')
    .option(
      '--expires <when>',
      'a time such as 2027-01-31, 2027-01-31T12:00:00Z or, from now on, 90d; default: never',
    )
    .action(async (options: CreateOptions) => {
      const body = {
        name: options.name ?? `token-${randomBytes(4).toString('hex')}`,
        scopes: options.scope ?? ['all'],
        expires_at: options.expires === undefined ? null : timeIn(options.expires, Date.now()),
      };
      const client = clientOf(options);
      const promote = options.admin === true ? await promotionOf(client, options.user) : null;
      const made = createdToken.parse(await client.get({ method: 'POST', path: pathOf(options), body }));
      const revoke = () => client.get({ method: 'DELETE', path: `${pathOf(options)}/${made.id}` });
      await promote?.().catch(async (fault: unknown) => {
        await revoke();
        throw fault;
      });
      await printKept(options.json === true ? jsonText(made) : `${made.sha1}\n`).catch(
        async (fault: unknown) => {
          if (!(fault instanceof SoftquotaError)) throw fault;
          const became = await revoke().then(
            () => 'was revoked',
            () => `could not be revoked: softquota token revoke ${made.id} --user ${options.user}`,
          );
          const message = `${fault.message}; the token could not be printed, and ${became}`;
          throw new SoftquotaError(fault.code, message, { cause: fault });
        },
      );
    });

  withUserOption(tokens.command('list'))
    .summary("list a user's tokens")
    .action(async (options: UserOption) => {
      const found = z.array(token).parse(await clientOf(options).get({ path: pathOf(options) }));
      if (options.json === true) printJson(found);
      else print(tokensTable(found));
    });

  withConfigOption(tokens.command('revoke'))
    .summary('revoke a token')
    .description('Takes a token away; it is refused from then on.')
    .argument('<token>', 'its id or its name')
    .requiredOption('--user <user>', 'whose it is')
    .action(async (idOrName: string, options: UserOption) => {
      await clientOf(options).get({ method: 'DELETE', path: `${pathOf(options)}/${pathStep(idOrName)}` });
      print(`${printable(`Revoked ${idOrName} of ${options.user}.`)}\n`);
    });
}

const scopeHelp =
  'what it may do: all, or read:AREA and write:AREA of admin, user, organization; may be given several times; ' +
  'default: all that the user may';

function withUserOption(command: Command): Command {
  return withJsonOption(withConfigOption(command)).requiredOption('--user <user>', 'whose it is');
}

function clientOf(option: ConfigOption): DaemonClient {
  return adminClient(() => configFrom(option));
}

function pathOf({ user: name }: UserOption): string {
  return `/users/${pathStep(name)}/tokens`;
}

/**
 * Gives the change that makes somebody an administrator, to be done once there is the token: a token that
 * cannot be made must not leave one behind. Null where there is nothing to do any more. What is done is told
 * on standard error.
 */
async function promotionOf(client: DaemonClient, name: string): Promise<(() => Promise<void>) | null> {
  const path = `/admin/users/${pathStep(name)}`;
  const known = await client.ask({ path });
  const isNew = known.status === 404;
  if (isNew) await client.get({ method: 'POST', path: '/admin/users', body: { username: name } });
  const { username, is_admin: isAdmin } = user.parse(await client.get({ path }));
  if (isAdmin) return null;
  return async () => {
    await client.get({ method: 'PATCH', path, body: { is_admin: true } });
    const done = isNew ? `created ${name}, an administrator` : `${username} is an administrator now`;
    tell(`softquota: ${printable(done)}\n`);
  };
}

/** A time in ISO 8601, from one that people write; throws `usage`. */
function timeIn(text: string, now: number): string {
  const time = z.union([z.iso.datetime({ offset: true }), z.iso.date()]).safeParse(text);
  if (time.success) return new Date(time.data).toISOString();
  const span = duration.parse(text);
  if (span.ok) return new Date(now + span.value).toISOString();
  throw new SoftquotaError(
    'usage',
    `--expires ${text}: expected a time such as 2027-01-31 or 2027-01-31T12:00:00Z, or how long from now, such as 90d`,
  );
}

function tokensTable(tokens: readonly Token[]): string {
  if (tokens.length === 0) return 'There is none. softquota token create makes one.\n';
  return table(
    [
      { title: 'ID' },
      { title: 'NAME' },
      { title: 'SCOPES' },
      { title: 'ENDS IN' },
      { title: 'MADE' },
      { title: 'LAST USED' },
      { title: 'EXPIRES' },
    ],
    tokens.map(each => [
      String(each.id),
      each.name,
      each.scopes.join(' '),
      each.token_last_eight,
      formatTime(each.created_at),
      formatTime(each.last_used_at),
      formatTime(each.expires_at),
    ]),
  );
}
