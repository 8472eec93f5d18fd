/** `softquota user`: the users and organizations that softquota knows. */

import { isDeepStrictEqual } from 'node:util';
import { type Command, Option } from 'commander';
import { SoftquotaError } from '../errors.ts';
import { printable } from '../text/index.ts';
import { type Member, type OwnerReport, ownerType, type QuotaInfo, type User } from '../wire/index.ts';
import { adminClient, createUnlessSame, type DaemonClient, pathStep } from './client.ts';
import type { Exit } from './exit.ts';
import { formatTime, printJson } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { print } from './streams.ts';
import { table } from './table.ts';
import { ownersTable } from './usage.ts';

interface JsonOption extends ConfigOption {
  readonly json?: boolean;
}

interface ListOptions extends JsonOption {
  readonly search?: string;
  readonly type?: string;
}

interface FieldOptions extends JsonOption {
  readonly type?: string;
  readonly email?: string;
  readonly fullName?: string;
  readonly admin?: boolean;
}

interface EditOptions extends FieldOptions {
  readonly name?: string;
}

/** The most rows that one answer can have. */
const pageRows = 1000;

export function addUser(program: Command, _exit: Exit): void {
  const users = program
    .command('user')
    .summary('users and organizations')
    .description(
      'Shows and changes users and organizations. Owners found on the disk or in a report are added ' +
        'automatically, as users; you can change them to organizations.',
    );

  withJsonOption(withConfigOption(users.command('list')))
    .summary('list users and organizations')
    .option('--search <text>', 'only names that contain this text')
    .addOption(typeOption('only this type'))
    .action(async (options: ListOptions) => {
      const found = await allUsers(clientOf(options), options);
      if (options.json === true) printJson(found);
      else print(usersTable(found));
    });

  withJsonOption(withConfigOption(users.command('show')))
    .summary('show a user or an organization')
    .description('Shows a user or an organization, its effective groups, and the members of an organization.')
    .argument('<name>', nameHelp)
    .action(async (name: string, options: JsonOption) => {
      const client = clientOf(options);
      const shown = await everythingOf(client, name);
      if (options.json === true) return printJson(shown);
      const usage = await client.get<OwnerReport>({ path: `/admin/quota/usage/${pathStep(name)}` });
      print(`${userText(shown)}\n${ownersTable([usage])}`);
    });

  withFields(withJsonOption(withConfigOption(users.command('create'))))
    .summary('create a user or an organization')
    .argument('<name>', nameHelp)
    .option('--admin', 'create an administrator')
    .action(async (name: string, options: FieldOptions) => {
      const body = { username: name, ...fieldsOf(options) };
      const call = { method: 'POST', path: '/admin/users', body } as const;
      const { isNew, value: created } = await createUnlessSame<User>(clientOf(options), call, {
        path: () => `/admin/users/${pathStep(name)}`,
        isSame: found => isDeepStrictEqual({ ...found, ...body, username: found.username }, found),
      });
      if (options.json === true) return printJson(created);
      const verb = isNew ? 'Created' : 'There is already';
      print(`${verb} ${printable(created.username)}, ${rankOf(created)}.\n`);
    });

  withFields(withJsonOption(withConfigOption(users.command('edit'))))
    .summary('change or rename a user or an organization')
    .description(
      'Changes only what the options name. A renamed user or organization keeps its groups, tokens and ' +
        'memberships. Rename its directories, too: they decide who owns the repositories.',
    )
    .argument('<name>', nameHelp)
    .option('--name <name>', 'the new name')
    .option('--admin', 'make it an administrator')
    .option('--no-admin', 'make it no administrator')
    .action(async (name: string, options: EditOptions) => {
      const body = {
        ...fieldsOf(options),
        ...(options.name === undefined ? {} : { username: options.name }),
      };
      if (Object.keys(body).length === 0) {
        throw new SoftquotaError('usage', 'nothing to change: give at least one option');
      }
      const path = `/admin/users/${pathStep(name)}`;
      const edited = await clientOf(options).get<User>({ method: 'PATCH', path, body });
      if (options.json === true) printJson(edited);
      else print(userLines(edited).join(''));
    });

  withConfigOption(users.command('delete'))
    .summary('delete a user or an organization')
    .description(
      'Deletes a user or an organization with all its tokens and memberships, also in groups. If it still has ' +
        'repositories or other units, delete these first.',
    )
    .argument('<name>', nameHelp)
    .action(async (name: string, options: ConfigOption) => {
      await clientOf(options).get({ method: 'DELETE', path: `/admin/users/${pathStep(name)}` });
      print(`Deleted ${printable(name)}.\n`);
    });
}

const nameHelp = 'the name of a user or an organization';

function withFields(command: Command): Command {
  return command
    .addOption(typeOption('user or organization'))
    .option('--email <address>', 'its email address')
    .option('--full-name <name>', 'its full name');
}

function typeOption(what: string): Option {
  return new Option('--type <type>', what).choices(ownerType.options);
}

function clientOf(option: ConfigOption): DaemonClient {
  return adminClient(() => configFrom(option));
}

function fieldsOf({ type, email, fullName, admin }: FieldOptions): Readonly<Record<string, unknown>> {
  return {
    ...(type === undefined ? {} : { type }),
    ...(email === undefined ? {} : { email }),
    ...(fullName === undefined ? {} : { full_name: fullName }),
    ...(admin === undefined ? {} : { is_admin: admin }),
  };
}

async function allUsers(client: DaemonClient, { search, type }: ListOptions): Promise<User[]> {
  const wanted = { ...(search === undefined ? {} : { q: search }), ...(type === undefined ? {} : { type }) };
  const found: User[] = [];
  for (let page = 1; ; page++) {
    const query = new URLSearchParams({ ...wanted, page: String(page), limit: String(pageRows) });
    const rows = await client.get<readonly User[]>({ path: `/admin/users?${query}` });
    found.push(...rows);
    if (rows.length < pageRows) return found;
  }
}

interface Shown extends User {
  readonly quota: QuotaInfo;
  /** Only for an organization. */
  readonly members?: readonly Member[];
}

async function everythingOf(client: DaemonClient, name: string): Promise<Shown> {
  const path = `/admin/users/${pathStep(name)}`;
  const one = await client.get<User>({ path });
  const quota = await client.get<QuotaInfo>({ path: `${path}/quota` });
  if (one.type === 'user') return { ...one, quota };
  const members = await client.get<readonly Member[]>({ path: `/admin/orgs/${pathStep(name)}/members` });
  return { ...one, quota, members };
}

function rankOf({ type, is_admin: isAdmin }: User): string {
  return isAdmin ? 'an administrator' : type === 'user' ? 'a user' : 'an organization';
}

function usersTable(users: readonly User[]): string {
  if (users.length === 0) return 'No users or organizations.\n';
  return table(
    [
      { title: 'NAME' },
      { title: 'TYPE' },
      { title: 'FULL NAME' },
      { title: 'EMAIL' },
      { title: 'KNOWN SINCE' },
    ],
    users.map(each => [
      each.username,
      rankOf(each).replace(/^an? /, ''),
      each.full_name,
      each.email,
      formatTime(each.created),
    ]),
  );
}

/** Whole lines. */
function userLines(shown: User): readonly string[] {
  const { username, full_name: fullName, email, created } = shown;
  return [
    `${username} is ${rankOf(shown)}, known since ${formatTime(created)}.`,
    ...(fullName === '' ? [] : [`Full name: ${fullName}`]),
    ...(email === '' ? [] : [`Email: ${email}`]),
  ].map(line => `${printable(line)}\n`);
}

function userText(shown: Shown): string {
  const groups = shown.quota.groups.map(({ name }) => name).join(', ');
  const bearing = groups === '' ? 'none; [quota.default] TOTAL applies' : groups;
  const members = shown.members?.map(({ username, role }) =>
    role === 'owner' ? `${username} (owner)` : username,
  );
  return [
    ...userLines(shown),
    `${printable(`Groups: ${bearing}`)}\n`,
    ...(members === undefined ? [] : [`${printable(`Members: ${members.join(', ') || 'none'}`)}\n`]),
  ].join('');
}
