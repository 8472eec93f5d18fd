/** `softquota member`: who belongs to an organization. */

import { type Command, Option } from 'commander';
import { printable } from '../text/index.ts';
import { type Member, membership } from '../wire/index.ts';
import { adminClient, type DaemonClient, pathStep } from './client.ts';
import type { Exit } from './exit.ts';
import { printJson } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { print } from './streams.ts';
import { table } from './table.ts';

interface ListOptions extends ConfigOption {
  readonly json?: boolean;
}

interface AddOptions extends ConfigOption {
  readonly role: Member['role'];
}

export function addMemberCommand(program: Command, _exit: Exit): void {
  const members = program
    .command('member')
    .summary('members of organizations')
    .description(
      'Shows and changes the members of an organization. Its owners see its quota in the web UI, and may ask for ' +
        'more space; what members push into its repositories counts for the organization.',
    );

  withJsonOption(withConfigOption(members.command('list')))
    .summary('list the members of an organization')
    .argument('<organization>', organizationHelp)
    .action(async (organization: string, options: ListOptions) => {
      const found = await clientOf(options).get<readonly Member[]>({ path: pathOf(organization) });
      if (options.json === true) printJson(found);
      else print(membersTable(organization, found));
    });

  withConfigOption(members.command('add'))
    .summary('add a user to an organization, or change the role')
    .argument('<organization>', organizationHelp)
    .argument('<user>', 'the name of a user')
    .addOption(
      new Option('--role <role>', 'the role: owners see the quota of the organization')
        .choices(membership.shape.role.options)
        .default('member'),
    )
    .action(async (organization: string, user: string, { role, ...options }: AddOptions) => {
      const path = `${pathOf(organization)}/${pathStep(user)}`;
      await clientOf(options).get({ method: 'PUT', path, body: { role } });
      print(
        `${printable(`${user} is now ${role === 'owner' ? 'an owner' : 'a member'} of ${organization}.`)}\n`,
      );
    });

  withConfigOption(members.command('remove'))
    .summary('remove a user from an organization')
    .argument('<organization>', organizationHelp)
    .argument('<user>', 'the name of a member')
    .action(async (organization: string, user: string, options: ConfigOption) => {
      const path = `${pathOf(organization)}/${pathStep(user)}`;
      await clientOf(options).get({ method: 'DELETE', path });
      print(`${printable(`Removed ${user} from ${organization}.`)}\n`);
    });
}

const organizationHelp = 'the name of an organization';

function clientOf(options: ConfigOption): DaemonClient {
  return adminClient(() => configFrom(options));
}

function pathOf(organization: string): string {
  return `/admin/orgs/${pathStep(organization)}/members`;
}

function membersTable(organization: string, members: readonly Member[]): string {
  if (members.length === 0) return `${printable(organization)} has no members.\n`;
  return table(
    [{ title: 'NAME' }, { title: 'ROLE' }, { title: 'FULL NAME' }],
    members.map(({ username, role, full_name: fullName }) => [username, role, fullName]),
  );
}
