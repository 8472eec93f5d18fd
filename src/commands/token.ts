/** `softquota token`: tokens that let programs and people use the API. */

import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { z } from 'zod';
import { duration } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import { printable } from '../text/index.ts';
import type { CreatedToken, Token, User } from '../wire/index.ts';
import { adminClient, type DaemonClient, pathStep } from './client.ts';
import type { Exit } from './exit.ts';
import { formatTime, jsonText, printJson } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { print, printKept, tell } from './streams.ts';
import { table } from './table.ts';

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
    .description('Creates, lists and revokes the tokens with which a user can use the API.');

  withUserOption(tokens.command('create'))
    .summary('create a token')
    .description(
      'Creates a token, and prints only the token on standard output. The token is not stored anywhere: if you lose ' +
        'it, create another one. A token that cannot be printed is revoked. With --admin the user becomes an ' +
        'administrator, and is created if it does not exist. So this creates the first token of a new installation:\n\n' +
        '  softquota token create --user root --admin',
    )
    .option('--admin', 'also make the user an administrator')
    .option('--scope <scope>', scopeHelp, (scope: string, others: readonly string[] = []) => [
      ...others,
      scope,
    ])
    .option('--name <name>', 'the name of the token, unique for the user; default: a generated name')
    .option(
      '--expires <when>',
      'when it expires: a time such as 2027-01-31 or 2027-01-31T12:00:00Z, or a time from now such as 90d; default: never',
    )
    .action(async (options: CreateOptions) => {
      const body = {
        name: options.name ?? `token-${randomBytes(4).toString('hex')}`,
        scopes: options.scope ?? ['all'],
        expires_at: options.expires === undefined ? null : timeIn(options.expires, Date.now()),
      };
      const client = clientOf(options);
      const promote = options.admin === true ? await promotionOf(client, options.user) : null;
      const made = await client.get<CreatedToken>({ method: 'POST', path: pathOf(options), body });
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
      const found = await clientOf(options).get<readonly Token[]>({ path: pathOf(options) });
      if (options.json === true) printJson(found);
      else print(tokensTable(found));
    });

  withConfigOption(tokens.command('revoke'))
    .summary('revoke a token')
    .description('Revokes a token; from then on it is refused.')
    .argument('<token>', 'the id or the name of the token')
    .requiredOption('--user <user>', 'the user of the token')
    .action(async (idOrName: string, options: UserOption) => {
      await clientOf(options).get({ method: 'DELETE', path: `${pathOf(options)}/${pathStep(idOrName)}` });
      print(`${printable(`Revoked ${idOrName} of ${options.user}.`)}\n`);
    });
}

const scopeHelp =
  'a permission: all, or read:AREA or write:AREA, where AREA is admin, user or organization; may be given several ' +
  'times; default: all permissions of the user';

function withUserOption(command: Command): Command {
  return withJsonOption(withConfigOption(command)).requiredOption('--user <user>', 'the user of the token');
}

function clientOf(option: ConfigOption): DaemonClient {
  return adminClient(() => configFrom(option));
}

function pathOf({ user: name }: UserOption): string {
  return `/users/${pathStep(name)}/tokens`;
}

/**
 * Returns the change that makes a user an administrator, to be applied after the token exists: if the token
 * cannot be created, the user must not become an administrator. Null if the user is one already. The change
 * is reported on standard error.
 */
async function promotionOf(client: DaemonClient, name: string): Promise<(() => Promise<void>) | null> {
  const path = `/admin/users/${pathStep(name)}`;
  const known = await client.ask({ path });
  const isNew = known.status === 404;
  if (isNew) await client.get({ method: 'POST', path: '/admin/users', body: { username: name } });
  const { username, is_admin: isAdmin } = await client.get<User>({ path });
  if (isAdmin) return null;
  return async () => {
    await client.get({ method: 'PATCH', path, body: { is_admin: true } });
    const done = isNew ? `created ${name}, an administrator` : `${username} is now an administrator`;
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
    `--expires ${text}: expected a time such as 2027-01-31 or 2027-01-31T12:00:00Z, or a time from now, such as 90d`,
  );
}

function tokensTable(tokens: readonly Token[]): string {
  if (tokens.length === 0) return 'No tokens. Create one with softquota token create.\n';
  return table(
    [
      { title: 'ID' },
      { title: 'NAME' },
      { title: 'SCOPES' },
      { title: 'ENDS IN' },
      { title: 'CREATED' },
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
