/** A line for each command that prints. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { buildProgram } from '../../src/commands/index.ts';
import { allowance } from '../../src/wire/index.ts';
import type { Server } from './server.ts';
import { askForMore, inAnHour } from './space-requests.ts';

/** A section of app.ini that a server of `commandLines` has; nobody listens there. */
export const oneWebhook = {
  'webhook.chat': { URL: 'http://127.0.0.1:9/', SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
};

const source = {
  name: 'company',
  openid_connect_auto_discovery_url: 'http://127.0.0.1:9/.well-known/openid-configuration',
  client_id: 'softquota',
  client_secret: 'secret',
  quota_group_claim_name: 'groups',
  quota_group_map: { Staff: ['free'] },
};

const policy = {
  rules: [{ name: 'total', limit: '1k', subjects: ['size:all'] }],
  groups: [{ name: 'free', rules: ['total'], users: ['alice'] }],
};

/** The commands that have no others below them, by their whole names. */
export async function leafCommands(): Promise<ReadonlyMap<string, Command>> {
  const found = (command: Command, name: string): (readonly [string, Command])[] =>
    command.commands.length === 0
      ? [[name, command]]
      : command.commands.flatMap(each => found(each, `${name} ${each.name()}`.trim()));
  return new Map(found(await buildProgram(() => {}), ''));
}

/** Lines with each command that prints, in an order in which all of them can succeed. */
export async function commandLines(server: Server): Promise<readonly string[]> {
  const { folder } = server;
  await writeFile(join(folder, 'policy.json'), JSON.stringify(policy));
  await writeFile(join(folder, 'claims.json'), '{"sub": "1", "groups": ["Staff"]}');
  const made = await server.ask('admin', '/api/v1/admin/auths', { body: source });
  if (made.status !== 201) throw new Error(`the source was not made: ${made.text}`);
  const [first, second] = (await askForMore(server, ['carol', 'dave'])).map(({ id }) => id);
  const given = await server.ask('admin', '/api/v1/admin/users/carol/quota/allowances', {
    body: { bytes: 1, until: inAnHour(), why: 'to be ended' },
  });
  const { id: kept } = allowance.parse(JSON.parse(given.text));
  return [
    'serve --check-config',
    'serve --print-config',
    'check alice',
    'check alice --json',
    'usage',
    'usage alice',
    'usage --json',
    'why alice',
    'explain alice',
    'history',
    'events',
    'reclaim',
    'scan --verify',
    'rule create small --limit 1M --subject size:all',
    'rule list',
    'rule show small',
    'rule edit small --limit 2M --grace 7d --grace-most "5 %" --mode report',
    'group create free --rule small',
    'group list',
    'group show free',
    'group remove-rule free small',
    'group add-rule free small',
    'group add-user free alice',
    'group remove-user free alice',
    'group delete free',
    'rule delete small',
    'user create bob',
    'user list',
    'user show bob',
    'user edit bob --email bob@git.example',
    'user create acme --type organization',
    'member add acme bob',
    'member list acme',
    'user show acme',
    'member remove acme bob',
    'request list --state all',
    `request grant ${first} --for 1d`,
    `request decline ${second} --words no`,
    'allowance create alice --size 1M --for 1d --why "a release"',
    'allowance list alice',
    `allowance end carol ${kept}`,
    'notices list',
    'notices test chat',
    'notices send-again --all',
    'token create --user bob --name lost',
    'token list --user bob',
    'token revoke kept --user bob',
    'sign-in-link --user bob',
    'user delete bob',
    'auth list',
    `auth sync company ${folder}/claims.json --user alice --try`,
    'policy export',
    `policy import ${folder}/policy.json --yes`,
    'policy lint',
    `policy simulate ${folder}/policy.json`,
    `hooks install ${folder}/git`,
    `hooks status ${folder}/git`,
    `hooks remove ${folder}/git`,
    'backup -',
    'host list',
    'host forget two',
    'store copy --to sqlite',
    'store repair --known',
    'doctor',
    'health --ready',
    `init ${folder}/git --config ${folder}/new/app.ini`,
    `playground --exit --dir ${folder}/world`,
    `restore ${folder}/saved.json --replace`,
    'group --help',
    '--version',
  ];
}
