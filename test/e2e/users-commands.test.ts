/** `softquota user`, `token` and `auth`: what they do, print, and exit with. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { z } from 'zod';
import { createdToken, savedSource, token as tokenSchema, user } from '../../src/wire/index.ts';
import { addressOf } from './accounts.ts';
import { wordsOf } from './commands.ts';
import type { Run } from './run.ts';
import { Server } from './server.ts';

// Some hundred processes, on whatever host.
t.setTimeout(900_000);

const aToken = /^[0-9a-f]{40}\n$/;

const server = await Server.open(t, { repositories: ['guild/app'] });

/** A command from another host: without a configuration, over HTTP. */
async function remote(line: string, token: string): Promise<Run> {
  const env = { SOFTQUOTA_CONFIG: '', SOFTQUOTA_URL: await addressOf(server), SOFTQUOTA_TOKEN: token };
  return server.softquota(line, { cwd: '/', env });
}

t.test('users and organizations are created, shown, changed, put into groups and deleted', async t => {
  for (const name of ['free', 'staff']) await server.done('group create', name);
  const alice = 'user create alice --email a@git.example --admin --full-name';
  t.equal(await server.done(alice, 'Alice L.'), 'Created alice, an administrator.\n');
  const bob = user.parse(await server.json('user create bob'));
  t.match(bob, { username: 'bob', type: 'user', is_admin: false, email: '' });
  t.match(
    await server.done('user edit guild --type organization'),
    /^guild is an organization, known since /,
  );
  await server.done('member add guild bob --role owner');

  t.match(
    await server.done('user list'),
    /^NAME +TYPE +FULL NAME +EMAIL +KNOWN SINCE\nalice +administrator +Alice L\. +a@git\.example +\d.*\nbob +user +\d.*\nguild +organization +\d.*\n$/,
  );
  const names = async (line: string) => {
    const listed = z.array(user).parse(await server.json(line));
    return listed.map(({ username }) => username);
  };
  t.strictSame(await names('user list'), ['alice', 'bob', 'guild']);
  t.strictSame(await names('user list --search B'), ['bob']);
  t.strictSame(await names('user list --type organization'), ['guild']);
  t.equal(await server.done('user list --search nobody'), 'No users or organizations.\n');

  for (const group of ['free', 'staff']) await server.done(`group add-user ${group} alice`);
  t.match(
    await server.done('user show alice'),
    /^alice is an administrator, known since .*\.\nFull name: Alice L\.\nEmail: a@git\.example\nGroups: free, staff\n\nOWNER .*\nalice /,
  );
  t.match(await server.json('user show alice'), {
    username: 'alice',
    quota: { groups: [{ name: 'free' }, { name: 'staff' }] },
  });
  t.match(
    await server.done('user show guild'),
    /\nGroups: none; \[quota\.default\] TOTAL applies\nMembers: bob \(owner\)\n/,
  );
  t.match(await server.json('user show guild'), {
    type: 'organization',
    members: [{ ...bob, role: 'owner' }],
  });

  const renamed = await server.json('user edit bob --name Bobby --full-name Bob --admin');
  t.match(renamed, { id: bob.id, username: 'Bobby', full_name: 'Bob', is_admin: true });
  t.match(await server.json('user edit bobby --no-admin'), { ...renamed, is_admin: false });
  t.equal(await server.done('user delete Bobby'), 'Deleted Bobby.\n');
  const kept = await server.softquota('user delete guild');
  t.match(kept, { code: 1, stdout: '', stderr: /guild has 1 unit/ });
  t.strictSame(await names('user list'), ['alice', 'guild']);
});

t.test('one command prints a link that signs a user in once', async t => {
  const url = await addressOf(server);
  const link = await server.done('sign-in-link --user alice');
  t.ok(link.startsWith(`${url}sign-in#code=`) && link.endsWith('\n'), link);
  const signIn = () =>
    fetch(new URL('api/v1/session', url), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: new URL(url).origin },
      body: JSON.stringify({ code: link.trim().replace(/.*#code=/, '') }),
    });
  const answer = await signIn();
  t.equal(answer.status, 201);
  t.match(await answer.json(), { login: 'alice', via: 'link' });
  t.equal((await signIn()).status, 401);
  t.match(await server.json('sign-in-link --user alice'), { url: /#code=/, expires_at: /^\d{4}-/ });
  t.match(await server.softquota('sign-in-link --user nobody'), {
    code: 1,
    stdout: '',
    stderr: /no user or organization nobody/,
  });
});

t.test('one command opens the web UI of a new installation to its administrator', async t => {
  const first = await server.softquota('sign-in-link --user first --admin');
  t.match(first, { code: 0, stdout: /#code=/, stderr: 'softquota: created first, an administrator\n' });
  t.match(await server.json('user show first'), { username: 'first', is_admin: true });
  t.match(await server.softquota('sign-in-link --user first --admin'), { code: 0, stderr: '' });
});

t.test('one command leads from a new installation to the token of an administrator', async t => {
  const first = await server.softquota('token create --user root --admin');
  t.match(first, { code: 0, stdout: aToken, stderr: 'softquota: created root, an administrator\n' });
  const listed = await remote('user list --json', first.stdout.trim());
  const root = z.array(user).parse(JSON.parse(listed.stdout));
  t.match(
    root.find(({ username }) => username === 'root'),
    { is_admin: true, type: 'user' },
  );

  const again = await server.softquota('token create --user ROOT --admin');
  t.match(again, { code: 0, stdout: aToken, stderr: '' });
  t.not(again.stdout, first.stdout);
  await server.done('user create bob');
  const promoted = await server.softquota('token create --user bob --admin');
  t.match(promoted, { code: 0, stdout: aToken, stderr: 'softquota: bob is now an administrator\n' });
  t.match(await remote('user show root', promoted.stdout.trim()), { code: 0 });

  const unknown = await server.softquota('token create --user dave');
  t.match(unknown, {
    code: 1,
    stdout: '',
    stderr: /no user or organization dave; create it with softquota user create /,
  });
  await server.done('user create guild --type organization');
  const organization = await server.softquota('token create --user guild --admin');
  t.match(organization, { code: 2, stdout: '', stderr: /guild is an organization: only users have tokens/ });

  const expired = await server.softquota('token create --user carol --admin --expires 2001-01-01');
  t.match(expired, { code: 2, stdout: '' });
  t.match(await server.json('user show carol'), { is_admin: false }, 'no token, no administrator');
});

t.test('a token has the scopes, name and end asked for, and is revoked by name or id', async t => {
  const create = 'token create --user alice';
  const listed = async () => z.array(tokenSchema).parse(await server.json('token list --user alice'));
  const none = /^No tokens\. Create one with softquota token create/;
  t.match(await server.done('token list --user alice'), none);

  const reader = await server.done(`${create} --scope read:admin --scope read:user --name reader`);
  const before = Date.now();
  const made = createdToken.parse(await server.json(`${create} --expires 90d`));
  t.match(made, { sha1: /^[0-9a-f]{40}$/, scopes: ['all'], name: /^token-[0-9a-f]{8}$/ });
  const days = (Date.parse(made.expires_at ?? '') - before) / 86_400_000;
  t.ok(days >= 90 && days < 90.01, String(days));
  await server.done(`${create} --expires 2099-01-31 --name`, 'by date');
  await server.done(`${create} --expires 2099-01-31T12:00:00+02:00 --name`, 'by time');
  t.match(await listed(), [
    { name: 'reader', scopes: ['read:admin', 'read:user'], expires_at: null, last_used_at: null },
    { name: made.name },
    { name: 'by date', expires_at: '2099-01-31T00:00:00.000Z' },
    { name: 'by time', expires_at: '2099-01-31T10:00:00.000Z' },
  ]);

  t.match(await remote('user list', reader.trim()), { code: 0 });
  const refused = await remote('user create bob', reader.trim());
  t.match(refused, { code: 77, stdout: '', stderr: /the token lacks the scope write:admin/ });
  const table = await server.done('token list --user alice');
  t.match(table, /^ID +NAME +SCOPES +ENDS IN +CREATED +LAST USED +EXPIRES\n/);
  t.match(
    table,
    new RegExp(
      `reader +read:admin read:user +${reader.trim().slice(-8)} +\\S+ \\S+ +\\d{4}-\\S+ \\S+ +never\\n`,
    ),
  );

  t.equal(await server.done('token revoke reader --user alice'), 'Revoked reader of alice.\n');
  const expired = await remote('user list', reader.trim());
  t.match(expired, { code: 77, stderr: /invalid or expired token/ });
  await server.done(`token revoke ${made.id} --user alice`);
  t.match(await listed(), [{ name: 'by date' }, { name: 'by time' }]);
  for (const [code, words, ...line] of [
    [1, /alice has no token reader/, 'token', 'revoke', 'reader', '--user', 'alice'],
    [1, /has a token by date already/, ...create.split(' '), '--name', 'by date'],
    [2, /--expires soon: expected a time/, ...create.split(' '), '--expires', 'soon', '--admin'],
    [2, /expires_at: the time is in the past/, ...create.split(' '), '--expires', '2020-01-01'],
  ] as const)
    t.match(await server.softquota(line), { code, stdout: '', stderr: words });
});

const company = {
  name: 'company',
  openid_connect_auto_discovery_url: 'http://127.0.0.1:2',
  client_id: 'softquota',
  client_secret: 'client-secret-that-nobody-may-see',
  quota_group_claim_name: 'groups',
  quota_group_map: { staff: ['gold'], guests: ['silver'] },
  quota_group_map_removal: true,
};

async function addSource(): Promise<string> {
  for (const name of ['gold', 'silver']) await server.admin('/admin/quota/groups', { body: { name } });
  const made = await server.ask('admin', '/api/v1/admin/auths', { body: company });
  return String(savedSource.parse(JSON.parse(made.text)).id);
}

t.test('claims in a file do what a sign-in does with them, for one user or for many', async t => {
  t.match(await server.softquota('auth list'), { code: 0, stdout: /No sources/ });
  await addSource();
  t.match(await server.softquota('auth list'), {
    code: 0,
    stdout: /company .*127\.0\.0\.1:2 .*yes .*groups .*on/,
  });
  for (const name of ['dora', 'bob']) await server.done('user create', name);

  const one = await server.file('dora.json', '{"sub": "1", "groups": "staff, guests"}');
  const sync = 'auth sync company';
  const tried = await server.done(`${sync} ${one} --user dora --try`);
  t.equal(tried, 'dora: +gold +silver; in gold, silver\n');
  t.match(await server.done('group show gold'), /^(?!.*dora)/s);
  t.match(await server.done(`${sync} ${one} --user dora`), /^dora: \+gold \+silver/);
  t.match(await server.done(`${sync} ${one} --user dora`), /nothing changes; in gold, silver/);

  const many = join(server.folder, 'many.json');
  const users = [
    { user: 'dora', claims: { groups: [] } },
    { user: 'nobody', claims: { groups: [] } },
    { user: 'bob', claims: { groups: ['guests'] } },
  ];
  await writeFile(many, users.map(user => `${JSON.stringify(user)}\n`).join(''));
  t.match(await server.softquota(`${sync} ${many}`), {
    code: 1,
    stdout: 'dora: -gold -silver; in no group\nbob: +silver; in silver\n',
    stderr: /^softquota: nobody: there is no user nobody/,
  });
  await writeFile(many, JSON.stringify(users.slice(2)));
  const json = await server.json(`${sync} ${many}`);
  t.match(json, [{ user: 'bob', outcome: 'synchronized', groups: ['silver'], added: [] }]);

  await writeFile(many, '{"user": "bob"}\n');
  t.match(await server.softquota(`${sync} ${many}`), { code: 2, stderr: /line 1: claims/ });
  await writeFile(many, '{"user"');
  t.match(await server.softquota(`${sync} ${many}`), { code: 2, stderr: /line 1: not valid JSON/ });
  const another = await server.softquota(`auth sync another ${one} --user bob`);
  t.match(another, { code: 1, stderr: /no such source: another/ });
});

t.test('they exit with 2, 69 and 77 for what stands in the way, and show no secret', async t => {
  const lines = [
    ...['user', 'user show', 'user show nobody', 'user show ', 'user delete ..'],
    ...['user create x --type robot', 'user edit x', 'user edit x --admin'],
    ...['token', 'token list --user ', 'token revoke x', 'token revoke . --user x'],
  ];
  const wrong = [...lines.map(wordsOf), ['user', 'create', ' ']];
  await Promise.all(
    wrong.map(async args => {
      const { code, stdout, stderr } = await server.softquota(args);
      const isMissing = ['user edit x --admin', 'user show nobody'].includes(args.join(' '));
      t.match({ code, stdout }, { code: isMissing ? 1 : 2, stdout: '' }, args.join(' '));
      t.not(stderr, '', args.join(' '));
    }),
  );
  const url = await addressOf(server);
  const secret = 'f00d'.repeat(10);
  const list = (env: Readonly<Record<string, string>>) => server.softquota('user list', { env });
  const locked = new URL(url);
  locked.password = secret;
  t.match(await list({ SOFTQUOTA_URL: url }), { code: 77, stderr: /a token is required/ });
  t.match(await list({ SOFTQUOTA_URL: url, SOFTQUOTA_TOKEN: secret }), {
    code: 77,
    stderr: /invalid or expired token/,
  });
  const nonsense = [
    await list({ SOFTQUOTA_URL: `ftp://x:${secret}@host/` }),
    await list({ SOFTQUOTA_URL: `nonsense ${secret}` }),
    await list({ SOFTQUOTA_URL: url, SOFTQUOTA_TOKEN: `${secret}\n${secret}` }),
  ];
  for (const { code, stderr } of nonsense) {
    t.equal(code, 2);
    t.match(stderr, /^softquota: SOFTQUOTA_(URL|TOKEN): expected /);
    t.notOk(stderr.includes(secret));
  }
  await server.stop();
  const gone = await list({ SOFTQUOTA_URL: locked.href, SOFTQUOTA_TOKEN: secret });
  t.match(gone, { code: 69, stderr: /no daemon answers at http:\/\/127\.0\.0\.1:/ });
  t.notOk(gone.stderr.includes(secret));
});
