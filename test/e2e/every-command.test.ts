/**
 * Rules for every command: keys in snake_case, and no output passed off as written that was not. The ordinary
 * run tries the latter with some of them.
 */

import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import t, { type Test } from 'tap';
import { buildProgram } from '../../src/commands/index.ts';
import { oddKeys } from '../api/keys.ts';
import { mountSmall } from '../faults/small-disk.ts';
import { isLong } from '../run-length.ts';
import { startSingle } from '../store/redis-servers.ts';
import { until } from './ask.ts';
import { wordsOf } from './commands.ts';
import { launcher } from './daemon.ts';
import { fleetHost } from './fleet-hosts.ts';
import { must, type Run, run } from './run.ts';
import { Server } from './server.ts';
import { askForMore, inAnHour } from './space-requests.ts';
import { withWorker } from './with-worker.ts';

t.setTimeout(600_000);

/** Nobody listens there. */
const oneWebhook = {
  'webhook.chat': { URL: 'http://127.0.0.1:9/', SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
};

/** Lines that need none of those before them. */
const alone =
  /^(serve|check|usage|events|scan|policy export|backup|host list|doctor|health|group --help|--version)\b/;

/** Runs a command line with redirections as a shell has them. */
function redirected(server: Server, redirections: string, args: string): Promise<Run> {
  const words = ['sh', process.execPath, launcher, ...wordsOf(args)];
  return run('sh', ['-c', `exec "$@" ${redirections}`, ...words], {
    env: { SOFTQUOTA_CONFIG: server.config },
  });
}

/** All commands that are not made of others, by their whole names. */
function commandsIn(command: Command, name = ''): (readonly [name: string, takesJson: boolean])[] {
  if (command.commands.length === 0) return [[name, command.options.some(({ long }) => long === '--json')]];
  return command.commands.flatMap(each => commandsIn(each, `${name} ${each.name()}`.trim()));
}

const commands = commandsIn(await buildProgram(() => {}));

/** Each command that prints, in an order in which each does something; `pass` tells two passes apart. */
async function linesOf(server: Server, pass: string): Promise<readonly string[]> {
  const file = (name: string): string => join(server.folder, name);
  const [granted, declined] = await askForMore(server, [`carol-${pass}`, `dave-${pass}`]);
  const { id: given } = await server.admin(`/admin/users/carol-${pass}/quota/allowances`, {
    body: { bytes: 1, until: inAnHour(), why: 'to be ended' },
  });
  const policy = await server.file('policy.json', { rules: [], groups: [] });
  const claims = await server.file('claims.json', { groups: ['Staff'] });
  return [
    ...['serve --check-config', 'serve --print-config', 'check alice', 'usage', 'usage alice'],
    ...['check alice --json', 'usage --json', 'why alice', 'explain alice', 'history alice', 'events'],
    ...['reclaim', 'scan --verify', 'rule create small --limit 1M --subject size:all --grace 7d'],
    ...['rule list', 'rule show small', 'rule edit small --grace-most 5% --mode report'],
    ...[
      'group create free',
      'group list',
      'group show free',
      'group usage free',
      'group add-rule free small',
    ],
    ...['group remove-rule free small', 'group add-user free alice', 'group remove-user free alice'],
    ...[
      'auth list',
      `auth sync company ${claims} --user alice --try`,
      'group delete free',
      'rule delete small',
    ],
    ...['user create bob', 'user list', 'user show bob', 'user edit bob --email bob@git.example'],
    ...['user create acme --type organization', 'member add acme bob', 'member list acme'],
    ...['member remove acme bob', 'request list --state all', `request grant ${granted?.id} --for 1d`],
    ...[`request decline ${declined?.id} --words no`, 'allowance list alice'],
    ...['allowance create alice --size 1M --for 1d --why release', `allowance end carol-${pass} ${given}`],
    ...['notices list', 'notices test chat', 'notices send-again --all', 'token list --user bob'],
    ...[
      `token create --user bob --name lost-${pass}`,
      'token revoke kept --user bob',
      'sign-in-link --user bob',
    ],
    ...['user delete bob', 'policy export', `policy import ${policy} --yes`, 'policy lint'],
    ...[`policy simulate ${policy}`, `hooks install ${file('git')}`, `hooks status ${file('git')}`],
    ...[`hooks remove ${file('git')}`, 'backup -', 'host list', 'host forget two', 'store repair --known'],
    ...['doctor', 'health --ready', `playground --exit --dir ${file('world')}`],
    ...[`init ${file('git')} --config ${file(`${pass}/app.ini`)}`, 'group --help', '--version'],
    `restore ${file('saved.json')} --replace`,
  ];
}

/** Fails where a command prints no JSON, or a key that is not snake_case. */
async function mustBeSnake(t: Test, server: Server, line: string): Promise<void> {
  const { stdout, stderr } = await server.softquota(line);
  try {
    t.strictSame(oddKeys(JSON.parse(stdout)), [], line);
  } catch {
    t.fail(`${line} prints no JSON: ${stdout}${stderr}`);
  }
}

async function mustNotFit(t: Test, server: Server, line: string): Promise<void> {
  const { code, stderr } = await redirected(server, '>/dev/full', line);
  t.equal(code, 74, `${line}: ${stderr}`);
  t.match(stderr, /softquota: standard output cannot be written: no space left on device \(ENOSPC\)/, line);
  t.notMatch(stderr, /Saved|mistake/, line);
}

const server = await Server.open(t, { repositories: ['alice/app'] });

t.test('every command prints keys in snake_case, and ends with 74 where standard output is full', async t => {
  const { address, servers } = await startSingle(t);
  const one = await fleetHost(t, { address, host: 'one', repositories: ['alice/app'], ini: oneWebhook });
  const two = await fleetHost(t, { address, host: 'two' });
  const apart = await Server.open(t, { started: false });
  await one.admin('/admin/auths', {
    body: {
      name: 'company',
      openid_connect_auto_discovery_url: 'http://127.0.0.1:9/.well-known/openid-configuration',
      client_id: 'softquota',
      client_secret: 'secret',
      quota_group_claim_name: 'groups',
      quota_group_map: { Staff: ['free'] },
    },
  });
  const before: Readonly<Record<string, () => Promise<unknown>>> = {
    'token revoke': async () => {
      t.notMatch(await one.done('token list --user bob'), /lost-full/, 'one that nobody has seen is gone');
      await one.done('token create --user bob --name kept');
    },
    reclaim: async () => {
      await withWorker(t, one);
      await until(async () => ((await one.softquota('reclaim')).code === 0 ? true : null));
    },
    'host forget': () => two.stop(),
    'store repair': async () => {
      await servers[0].cli('hset', 'softquota:policy', 'generation', 'another');
      await until(async () => (/does not continue/.test(await one.reasons()) ? true : null));
    },
    restore: () => one.done(`backup ${join(one.folder, 'saved.json')}`),
  };
  const prepare = async (line: string) => {
    for (const [command, act] of Object.entries(before)) if (line.startsWith(command)) await act();
    return line.startsWith('restore') ? apart : one;
  };
  const lines = await linesOf(one, 'json');
  const linesFor = (name: string) => lines.filter(line => `${line} `.startsWith(`${name} `));
  const withJson = commands.filter(([, takesJson]) => takesJson).flatMap(([name]) => linesFor(name));
  for (const [name] of commands) {
    // One becomes git, and the other only logs.
    if (name !== 'receive-pack' && name !== 'worker') t.ok(linesFor(name).length > 0, `${name} is run`);
  }
  for (const line of lines) {
    const on = await prepare(line);
    if (withJson.includes(line)) await mustBeSnake(t, on, `${line} --json`);
    else if (!/^(serve|playground|policy export|backup)\b/.test(line)) await on.softquota(line);
  }
  for (const line of ['backup -', 'policy export']) await mustBeSnake(t, one, line);
  await two.start();
  const full = await linesOf(one, 'full');
  for (const line of isLong ? full : full.filter(each => alone.test(each)))
    await mustNotFit(t, await prepare(line), line);
});

t.test('a backup of which the disk took a part is not called saved, and an older one stays', async t => {
  const server = await Server.open(t);
  const small = join(server.folder, 'small');
  await mkdir(small);
  await mountSmall(t, small, '1m');
  // More than a page, so that a part of it finds room.
  for (let n = 0; n < 40; n += 1) {
    await server.admin('/admin/users', { body: { username: `${n}`.padStart(250, 'u') } });
  }
  const older = await server.file('small/older.json', 'an older one');
  const ballast = Buffer.alloc(1024 * 1024 - 3 * 4096);
  await writeFile(join(small, 'ballast'), ballast);
  const saved = join(small, 'saved.json');
  for (const line of ['backup -', 'usage --json', 'user list --json']) {
    const { code, stderr } = await redirected(server, `>'${saved}'`, line);
    const { size } = await stat(saved);
    t.ok(size > 0 && size < 10_000, `${size} bytes of it were written`);
    t.equal(code, 74, line);
    t.equal(stderr, 'softquota: standard output cannot be written: no space left on device (ENOSPC)\n');
  }
  t.match(await server.softquota(['backup', older]), { code: 74, stderr: /older\.json: ENOSPC/ });
  t.equal(await readFile(older, 'utf8'), 'an older one');
  t.strictSame((await readdir(small)).sort(), ['ballast', 'older.json', 'saved.json']);
});

t.test('a reader that goes away is told nothing, unless what is lost cannot be had again', async t => {
  // Closed for reading before the command begins.
  const gone = async (line: string): Promise<{ code: string; stderr: string }> => {
    const script = '{ read -r go; "$@"; echo $? >&3; } 3>&4 <"$fifo" | { exec <&-; echo go >"$fifo"; }';
    const fifo = join(server.folder, 'go');
    await must('mkfifo', [fifo]);
    const { stdout, stderr } = await run(
      'sh',
      ['-c', `exec 4>&1; ${script}`, 'sh', process.execPath, launcher, ...wordsOf(line)],
      { env: { SOFTQUOTA_CONFIG: server.config, fifo } },
    );
    await rm(fifo);
    return { code: stdout.trim(), stderr };
  };
  t.strictSame(await gone('usage'), { code: '0', stderr: '' });
  const lost = await gone('token create --user alice --name lost');
  t.equal(lost.code, '74');
  t.match(lost.stderr, /the token could not be printed, and was revoked/);
  t.notMatch((await server.softquota('token list --user alice')).stdout, /lost/);
  const backup = await gone('backup -');
  t.equal(backup.code, '74');
  t.notMatch(backup.stderr, /Saved/);
});

t.test('where standard error is full a command does what it should, and says 74', async t => {
  const file = join(server.folder, 'saved.json');
  t.match(await redirected(server, '2>/dev/full', `backup ${file}`), { code: 74 });
  t.ok((await readFile(file, 'utf8')).endsWith('}\n'));
  t.match(await redirected(server, '2>/dev/full', 'nonsense'), { code: 2 });
  t.match(await redirected(server, '2>/dev/full', 'scan'), { code: 0, stdout: /^Measured/ });
});

t.test('a file that cannot be read or written is 74', async t => {
  const nowhere = join(server.folder, 'no/such/place');
  for (const line of ['backup', 'policy export', 'policy import', 'policy lint', 'auth sync company']
    .concat(`init ${join(server.folder, 'git')} --config`)
    .map(command => `${command} ${nowhere}`)) {
    const { code, stderr } = await server.softquota(line);
    t.equal(code, 74, line);
    t.match(stderr, /no\/such.*ENOENT/);
  }
});

t.test('nothing but commands/streams.ts writes to standard output or standard error', async t => {
  const source = new URL('../../src/', import.meta.url);
  // The impersonator is a program of its own, whose output doctor reads.
  const own = ['commands/streams.ts', 'doctor/impersonator.ts'];
  const files = (await readdir(source, { recursive: true })).filter(name => name.endsWith('.ts'));
  const writing = files.filter(name => {
    const text = readFileSync(new URL(name, source), 'utf8');
    return !own.includes(name) && /process\.std(out|err)\.write|\bconsole\./.test(text);
  });
  t.strictSame(writing, []);
});
