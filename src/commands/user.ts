/** `softquota user` and `softquota member`: users and organizations, and who belongs to an organization. */

import { isDeepStrictEqual } from 'node:util';
import { Option } from 'commander';
import { SoftquotaError } from '../errors.ts';
import { given } from '../given.ts';
import * as wire from '../wire/index.ts';
import { apiCommand, resource } from './api-command.ts';
import { type Created, createUnlessSame, type DaemonClient, everyRow, pathStep } from './client.ts';
import { escapedLines, formatTime, type Texts } from './output.ts';
import { ownersTable } from './usage.ts';

interface FieldOptions {
  readonly type?: string;
  readonly email?: string;
  readonly fullName?: string;
  readonly admin?: boolean;
}

const nameHelp = 'the name of a user or an organization';
const list = '/admin/users';

const fieldOptions = [
  typeOption('user or organization'),
  new Option('--email <address>', 'its email address'),
  new Option('--full-name <name>', 'its full name'),
];

const addUser = resource('user', {
  summary: 'users and organizations',
  description:
    'Shows and changes users and organizations. Owners found on the disk or in a report are added ' +
    'automatically, as users; you can change them to organizations.',
  commands: [
    apiCommand<readonly wire.User[], { search?: string; type?: string }>('list', {
      summary: 'list users and organizations',
      options: [
        new Option('--search <text>', 'only names that contain this text'),
        typeOption('only this type'),
      ],
      ask: (client, { search, type }) => everyRow(client, list, { q: search, type }),
      none: 'No users or organizations.',
      columns: [
        ['NAME', user => user.username],
        ['TYPE', user => rankOf(user).replace(/^an? /, '')],
        ['FULL NAME', user => user.full_name],
        ['EMAIL', user => user.email],
        ['KNOWN SINCE', user => formatTime(user.created)],
      ],
    }),
    apiCommand<{ shown: Shown; usage: wire.OwnerReport }>('show <name>', {
      summary: 'show a user or an organization',
      description:
        'Shows a user or an organization, its effective groups, and the members of an organization.',
      arguments: [nameHelp],
      ask: async (client, _, name: string) => ({
        shown: await everythingOf(client, name),
        usage: await client.get({ path: `/admin/quota/usage/${pathStep(name)}` }),
      }),
      json: ({ shown }) => shown,
      text: ({ shown, usage }) =>
        `${escapedLines([userLines(shown), quotaLines(shown)])}\n${ownersTable([usage])}`,
    }),
    apiCommand<Created<wire.User>, FieldOptions>('create <name>', {
      summary: 'create a user or an organization',
      arguments: [nameHelp],
      options: [...fieldOptions, new Option('--admin', 'create an administrator')],
      ask: (client, options, name: string) => {
        const body = { username: name, ...fieldsOf(options) };
        const isSame = (found: wire.User) =>
          isDeepStrictEqual({ ...found, ...body, username: found.username }, found);
        return createUnlessSame(client, { list, name, body, isSame });
      },
      json: ({ value }) => value,
      text: ({ isNew, value }) => [
        `${isNew ? 'Created' : 'There is already'} ${value.username}, ${rankOf(value)}.`,
      ],
    }),
    apiCommand<wire.User, FieldOptions & { name?: string }>('edit <name>', {
      summary: 'change or rename a user or an organization',
      description:
        'Changes only what the options name. A renamed user or organization keeps its groups, tokens and ' +
        'memberships. Rename its directories, too: they decide who owns the repositories.',
      arguments: [nameHelp],
      options: [
        ...fieldOptions,
        new Option('--name <name>', 'the new name'),
        new Option('--admin', 'make it an administrator'),
        new Option('--no-admin', 'make it no administrator'),
      ],
      route: 'PATCH /admin/users/{name}',
      body: ({ name, ...options }) => {
        const fields = { ...fieldsOf(options), ...given({ username: name }) };
        if (Object.keys(fields).length > 0) return fields;
        throw new SoftquotaError('usage', 'nothing to change: give at least one option');
      },
      text: userLines,
    }),
    apiCommand('delete <name>', {
      summary: 'delete a user or an organization',
      description:
        'Deletes a user or an organization with all its tokens and memberships, also in groups. If it still has ' +
        'repositories or other units, delete these first.',
      arguments: [nameHelp],
      route: 'DELETE /admin/users/{name}',
      done: 'Deleted {name}.',
    }),
  ],
});

const organizationHelp = 'the name of an organization';

const addMember = resource('member', {
  summary: 'members of organizations',
  description:
    'Shows and changes the members of an organization. Its owners see its quota in the web UI, and may ask for ' +
    'more space; what members push into its repositories counts for the organization.',
  commands: [
    apiCommand<readonly wire.Member[]>('list <organization>', {
      summary: 'list the members of an organization',
      arguments: [organizationHelp],
      route: 'GET /admin/orgs/{organization}/members',
      none: (_, organization: string) => `${organization} has no members.`,
      columns: [
        ['NAME', member => member.username],
        ['ROLE', member => member.role],
        ['FULL NAME', member => member.full_name],
      ],
    }),
    apiCommand<void, { role: wire.Member['role'] }>('add <organization> <user>', {
      summary: 'add a user to an organization, or change the role',
      arguments: [organizationHelp, 'the name of a user'],
      options: [
        new Option('--role <role>', 'the role: owners see the quota of the organization')
          .choices(wire.membership.shape.role.options)
          .default('member'),
      ],
      route: 'PUT /admin/orgs/{organization}/members/{user}',
      body: ({ role }) => ({ role }),
      done: ({ role }) => `{user} is now ${role === 'owner' ? 'an owner' : 'a member'} of {organization}.`,
    }),
    apiCommand('remove <organization> <user>', {
      summary: 'remove a user from an organization',
      arguments: [organizationHelp, 'the name of a member'],
      route: 'DELETE /admin/orgs/{organization}/members/{user}',
      done: 'Removed {user} from {organization}.',
    }),
  ],
});

function typeOption(what: string): Option {
  return new Option('--type <type>', what).choices(wire.ownerType.options);
}

function fieldsOf({ type, email, fullName, admin }: FieldOptions): Readonly<Record<string, unknown>> {
  return given({ type, email, full_name: fullName, is_admin: admin });
}

interface Shown extends wire.User {
  readonly quota: wire.QuotaInfo;
  /** Only for an organization. */
  readonly members?: readonly wire.Member[];
}

async function everythingOf(client: DaemonClient, name: string): Promise<Shown> {
  const path = `${list}/${pathStep(name)}`;
  const one = await client.get<wire.User>({ path });
  const quota = await client.get<wire.QuotaInfo>({ path: `${path}/quota` });
  if (one.type === 'user') return { ...one, quota };
  const members = await client.get<readonly wire.Member[]>({ path: `/admin/orgs/${pathStep(name)}/members` });
  return { ...one, quota, members };
}

function rankOf({ type, is_admin: isAdmin }: wire.User): string {
  return isAdmin ? 'an administrator' : type === 'user' ? 'a user' : 'an organization';
}

function userLines(shown: wire.User): readonly Texts[] {
  const { username, full_name: fullName, email, created } = shown;
  return [
    `${username} is ${rankOf(shown)}, known since ${formatTime(created)}.`,
    fullName !== '' && `Full name: ${fullName}`,
    email !== '' && `Email: ${email}`,
  ];
}

function quotaLines({ quota, members }: Shown): Texts {
  const groups = quota.groups.map(({ name }) => name).join(', ');
  const names = members?.map(({ username, role }) => (role === 'owner' ? `${username} (owner)` : username));
  return [
    `Groups: ${groups || 'none; [quota.default] TOTAL applies'}`,
    names && `Members: ${names.join(', ') || 'none'}`,
  ];
}

export const userCommands = { user: addUser, member: addMember };
