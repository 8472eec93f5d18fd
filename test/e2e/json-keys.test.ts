/** One case in all JSON that commands print: snake_case, as the API and the gate have it. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import t, { type Test } from 'tap';
import { buildProgram } from '../../src/commands/index.ts';
import { oddKeys } from '../api/keys.ts';
import { Gitolite } from './gitolite.ts';
import { Server } from './server.ts';
import { askForMore } from './space-requests.ts';

t.setTimeout(300_000);

/** Nobody listens there. */
const oneWebhook = {
  'webhook.chat': { URL: 'http://127.0.0.1:9/', SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
};

/** Commands of several hosts; store-commands.test.ts looks at what they print. */
const ofSeveral = ['host list', 'host forget'];

/** The commands that take --json, by their whole names. */
async function commandsWithJson(): Promise<readonly string[]> {
  const found = (command: Command, name: string): string[] => {
    if (command.commands.length > 0)
      return command.commands.flatMap(each => found(each, `${name} ${each.name()}`.trim()));
    return command.options.some(({ long }) => long === '--json') ? [name] : [];
  };
  return found(await buildProgram(() => {}), '');
}

/** Fails where a command prints no JSON, or a key that is not snake_case. */
async function mustBeSnake(t: Test, server: Server, ...args: readonly string[]): Promise<void> {
  const { stdout, stderr } = await server.softquota(args);
  const name = args.join(' ');
  let json: unknown;
  try {
    json = JSON.parse(stdout);
  } catch {
    t.fail(`${name} prints no JSON: ${stdout}${stderr}`);
    return;
  }
  t.strictSame(oddKeys(json), [], name);
}

t.test('every command with --json prints keys in snake_case', async t => {
  const server = await Server.open(t, {
    repositories: ['alice/app'],
    ini: { quota: { MODE: 'report' }, ...oneWebhook },
  });
  const file = async (name: string, content: object): Promise<string> => {
    const path = join(server.folder, name);
    await writeFile(path, JSON.stringify(content));
    return path;
  };
  const bare = server.path('alice/app');
  const made = await server.ask('admin', '/api/v1/admin/auths', {
    body: {
      name: 'company',
      openid_connect_auto_discovery_url: 'http://127.0.0.1:2',
      client_id: 'softquota',
      quota_group_claim_name: 'groups',
      quota_group_map: { Staff: ['free'] },
    },
  });
  t.equal(made.status, 201);
  const policy = await file('policy.json', {
    rules: [{ name: 'total', limit: '1k', subjects: ['size:all'] }],
    groups: [{ name: 'free', rules: ['total'], users: ['alice'] }],
  });
  const claims = await file('claims.json', { groups: ['Staff'] });
  const saved = join(server.folder, 'saved.json');
  const elsewhere = join(server.folder, 'elsewhere');
  await mkdir(elsewhere);
  const requests = (await askForMore(server, ['carol', 'dave'])).map(({ id }) => id);
  const examples: Readonly<Record<string, readonly string[]>> = {
    scan: ['--verify'],
    check: ['alice'],
    reclaim: [],
    usage: ['alice'],
    why: ['alice'],
    explain: ['alice'],
    history: ['alice'],
    events: [],
    'policy simulate': [policy],
    'policy import': [policy],
    'policy lint': [],
    'rule create': ['lfs', '--limit', '1G', '--subject', 'size:git:lfs'],
    'rule edit': ['lfs', '--limit', '2G', '--grace', '7d', '--grace-most', '5 %', '--mode', 'report'],
    'rule show': ['lfs'],
    'rule list': [],
    'group create': ['more', '--rule', 'lfs'],
    'group show': ['free'],
    'group list': [],
    'user create': ['acme', '--type', 'organization'],
    'user edit': ['acme', '--full-name', 'Acme'],
    'user show': ['acme'],
    'user list': [],
    'member list': ['acme'],
    'request list': ['--state', 'all'],
    'request grant': [requests[0] ?? '', '--for', '1d'],
    'request decline': [requests[1] ?? '', '--words', 'no'],
    'allowance create': ['alice', '--size', '1M', '--for', '1d', '--why', 'a release'],
    'allowance list': ['alice'],
    'notices list': [],
    'notices test': ['chat'],
    'notices send-again': ['--all'],
    'token create': ['--user', 'alice'],
    'token list': ['--user', 'alice'],
    'sign-in-link': ['--user', 'alice'],
    'auth list': [],
    'auth sync': ['company', claims, '--user', 'alice'],
    'hooks install': [server.folder],
    'hooks status': [server.folder],
    doctor: [],
    health: ['--ready'],
    'hooks remove': [bare],
    restore: [saved, '--replace'],
    init: [join(server.folder, 'git'), '--config', join(elsewhere, 'app.ini')],
  };
  t.strictSame([...Object.keys(examples), ...ofSeveral].sort(), [...(await commandsWithJson())].sort());
  for (const [name, args] of Object.entries(examples)) {
    if (name === 'restore') {
      await mustBeSnake(t, server, 'backup', '-');
      await mustBeSnake(t, server, 'policy', 'export');
      t.equal((await server.softquota(['backup', saved])).code, 0);
      await server.stop();
    }
    await mustBeSnake(t, server, ...name.split(' '), ...args, '--json');
  }
});

t.test('so do the hooks of gitolite', async t => {
  const server = await Server.open(t, { started: false });
  const gitolite = await Gitolite.open(t, server);
  for (const command of ['install', 'status', 'remove'])
    await mustBeSnake(t, server, 'hooks', command, '--gitolite', gitolite.home, '--json');
});
