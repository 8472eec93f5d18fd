/** `softquota token` and `softquota sign-in-link`: access for programs and people. */

import { randomBytes } from 'node:crypto';
import { Option } from 'commander';
import { z } from 'zod';
import { duration } from '../config/index.ts';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { printable } from '../text.ts';
import type { CreatedToken, Token, User } from '../wire/index.ts';
import { apiCommand, gathered, resource } from './api-command.ts';
import { type DaemonClient, pathStep } from './client.ts';
import { formatTime, jsonText } from './output.ts';
import { type CommonOptions, clientFrom } from './settings.ts';
import { printKept, tellNote } from './streams.ts';

interface CreateOptions extends CommonOptions {
  readonly user: string;
  readonly admin?: boolean;
  readonly scope?: readonly string[];
  readonly name?: string;
  readonly expires?: string;
}

const scopeHelp =
  'a permission: all, or read:AREA or write:AREA, where AREA is admin, user or organization; may be given several ' +
  'times; default: all permissions of the user';

const userOption = new Option('--user <user>', 'the user of the token').makeOptionMandatory();

const addToken = resource('token', {
  summary: 'tokens for the API',
  description: 'Creates, lists and revokes the tokens with which a user can use the API.',
  commands: [
    apiCommand<never, CreateOptions>('create', {
      summary: 'create a token',
      description:
        'Creates a token, and prints only the token on standard output. The token is not stored anywhere: if you lose ' +
        'it, create another one. A token that cannot be printed is revoked. With --admin the user becomes an ' +
        'administrator, and is created if it does not exist. So this creates the first token of a new installation:\n\n' +
        '  softquota token create --user root --admin',
      options: [
        userOption,
        new Option('--admin', 'also make the user an administrator'),
        new Option('--scope <scope>', scopeHelp).argParser(gathered),
        new Option('--name <name>', 'the name of the token, unique for the user; default: a generated name'),
        new Option(
          '--expires <when>',
          'when it expires: a time such as 2027-01-31 or 2027-01-31T12:00:00Z, or a time from now such as 90d; default: never',
        ),
      ],
      run: create,
    }),
    apiCommand<readonly Token[]>('list', {
      summary: "list a user's tokens",
      options: [userOption],
      route: 'GET /users/{user}/tokens',
      none: 'No tokens. Create one with softquota token create.',
      columns: [
        ['ID', token => String(token.id)],
        ['NAME', token => token.name],
        ['SCOPES', token => token.scopes.join(' ')],
        ['ENDS IN', token => token.token_last_eight],
        ['CREATED', token => formatTime(token.created_at)],
        ['LAST USED', token => formatTime(token.last_used_at)],
        ['EXPIRES', token => formatTime(token.expires_at)],
      ],
    }),
    apiCommand('revoke <token>', {
      summary: 'revoke a token',
      description: 'Revokes a token; from then on it is refused.',
      arguments: ['the id or the name of the token'],
      options: [userOption],
      route: 'DELETE /users/{user}/tokens/{token}',
      done: 'Revoked {token} of {user}.',
    }),
  ],
});

interface LinkOptions {
  readonly user: string;
  readonly admin?: boolean;
}

const addSignInLink = apiCommand<{ readonly url: string }, LinkOptions>('sign-in-link', {
  summary: 'create a link that signs a user in to the web UI',
  description:
    'Prints only a link on standard output. Opening it in a browser signs in as that user. The link works once, ' +
    'within ten minutes, on the host that created it, and only until its daemon ends. With --admin the user becomes ' +
    'an administrator, and is created if it does not exist. So this opens the web UI of a new installation:\n\n' +
    '  softquota sign-in-link --user root --admin',
  options: [
    new Option('--user <user>', 'the user to sign in').makeOptionMandatory(),
    new Option('--admin', 'also make the user an administrator'),
  ],
  ask: async (client, { user, admin }) => {
    const promote = admin === true ? await promotionOf(client, user) : null;
    const path = `/users/${pathStep(user)}/sign-in-link`;
    const link = await client.get<{ readonly url: string }>({ method: 'POST', path });
    await promote?.();
    return link;
  },
  text: ({ url }) => `${url}\n`,
  isKept: true,
});

async function create(options: CreateOptions): Promise<number> {
  const body = {
    name: options.name ?? `token-${randomBytes(4).toString('hex')}`,
    scopes: options.scope ?? ['all'],
    expires_at: options.expires === undefined ? null : timeIn(options.expires, Date.now()),
  };
  const path = `/users/${pathStep(options.user)}/tokens`;
  const client = clientFrom(options);
  const promote = options.admin === true ? await promotionOf(client, options.user) : null;
  const made = await client.get<CreatedToken>({ method: 'POST', path, body });
  const revoke = () => client.get({ method: 'DELETE', path: `${path}/${made.id}` });
  await promote?.().catch(async (fault: unknown) => {
    await revoke();
    throw fault;
  });
  try {
    printKept(options.json === true ? jsonText(made) : `${made.sha1}\n`);
  } catch (fault) {
    if (!(fault instanceof SoftquotaError)) throw fault;
    const became = await revoke().then(
      () => 'was revoked',
      () => `could not be revoked: softquota token revoke ${made.id} --user ${options.user}`,
    );
    const message = `${fault.message}; the token could not be printed, and ${became}`;
    throw new SoftquotaError(fault.code, message, { cause: fault });
  }
  return exitCodes.done;
}

/**
 * Returns the change that makes a user an administrator, to be applied once the token or link exists: if that
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
    tellNote(printable(done));
  };
}

/** Parses a time, or a time from now; returns it in ISO 8601. Throws `usage`. */
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

export const accessCommands = { token: addToken, 'sign-in-link': addSignInLink };
