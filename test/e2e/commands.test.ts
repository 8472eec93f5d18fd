/** The commands: what they print for people and for programs, and the exit statuses that scripts go by. */

import { spawnSync } from 'node:child_process';
import { chmod, copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import t from 'tap';
import { z } from 'zod';
import { buildProgram } from '../../src/commands/index.ts';
import { finding, ownerReport, ownerRow, scanReport } from '../../src/wire/index.ts';
import { makeForgeHooks } from '../git/hooks/forge-hooks.ts';
import { asNobody } from './commands.ts';
import { launcher } from './daemon.ts';
import { must, run } from './run.ts';
import { Server } from './server.ts';

t.setTimeout(600_000);

/** Every command, with those of which it is made. */
function* commandsOf(command: Command, path: readonly string[] = []): Generator<readonly [string, Command]> {
  for (const each of command.commands) {
    yield [[...path, each.name()].join(' '), each];
    yield* commandsOf(each, [...path, each.name()]);
  }
}

const program = await buildProgram(() => {});

const server = await Server.open(t, { repositories: ['alice/app', 'alice/site'] });
await server.filled('alice/app', 1_500_000);

t.test('--json gives programs the documented shapes, and people get tables', async t => {
  const json = async (line: string) => JSON.parse((await server.softquota(`${line} --json`)).stdout);
  // The figure of a push is without the file of its ref, which the walk after it counts.
  await server.softquota('scan');
  const { total: used } = ownerReport.parse(await json('usage alice'));

  const [row] = z.array(ownerRow).parse(await json('usage'));
  t.match(row, { name: 'alice', type: 'user', total: used, used, limit: 1_000_000, allowed: false });
  const report = ownerReport.parse(await json('usage alice'));
  t.match(report.units[0], { name: server.path('alice/app'), kind: 'walked' });
  t.match(scanReport.parse(await json('scan --verify')), {
    kind: 'verify',
    state: 'done',
    drift: { units: 0, bytes: 0 },
    progress: { units: 2, bytes: used },
  });
  t.strictSame(z.array(finding).parse(await json('doctor')), []);
  const checked = await json(`check ${server.path('alice/app')}`);
  t.match(checked, { allowed: false, owner: 'alice', subject: 'size:repos:private', used, limit: 1_000_000 });
  t.equal((await json('check alice')).length, 8, 'an owner alone: every leaf');

  const table = (await server.softquota('usage')).stdout;
  t.match(table, /^OWNER +USED +LIMIT +PERCENT/);
  t.match(table, /\nalice +1\.\d+ MB +1 MB +15\d % .*over the limit\n$/);
  t.match(await json('usage --state over,near'), [{ name: 'alice', state: 'over', subject: 'size:all' }]);
  t.strictSame(await json('usage --state near'), []);
  t.match(await server.softquota('usage --state near'), { stdout: 'No owner is in this state.\n' });
  t.match(await server.softquota('usage --state full'), { code: 2, stderr: /over, grace, near or ok/ });
  t.match(await server.softquota('usage alice --state over'), { code: 2 });
  t.match((await server.softquota('usage alice')).stdout, /^alice uses 1\.\d+ MB; limit: 1 MB/);
  t.match(
    (await server.softquota('scan')).stdout,
    /^Measured 2 units: \d+ files in \d+ directories, 1\.\d+ MB, in /,
  );
  const elsewhere = { env: { SOFTQUOTA_URL: 'http://127.0.0.1:9/' } };
  t.match(
    await server.softquota('doctor', elsewhere),
    { stdout: 'No problems found.\n' },
    'those of this host',
  );
});

t.test(
  'pools of groups and repositories near their limits are told by their numbers',
  { timeout: 240_000 },
  async t => {
    const said = async (line: string) => {
      const { code, stdout, stderr } = await server.softquota(line);
      return code === 0 ? stdout : `${code}: ${stderr}`;
    };
    t.equal(
      await said('usage --per repository'),
      'No repository has a limit of its own. Give some one with softquota rule create --per repository.\n',
    );
    for (const line of [
      'rule create each --limit 1M --subject size:repos:all --per repository',
      'rule create together --limit 10M --subject size:all --per group',
      'group create plain --rule each',
      'group create lab --rule each --rule together',
      'group add-user lab alice',
    ]) {
      t.notMatch(await said(line), /^\d/);
    }
    const rows = await said('usage --per repository');
    t.match(rows, /^REPOSITORY +USED +LIMIT +PERCENT +GROUP +RULE +STATE\n/);
    t.match(rows, /\nalice\/app +1\.\d+ MB +1 MB +15\d % +lab +each +over the limit\nalice\/site .* ok\n$/);
    t.match(JSON.parse(await said('usage --per repository --state over,near --json')), [
      { unit: 'alice/app', state: 'over', limit: 1_000_000 },
    ]);
    t.equal(await said('usage --per repository --state near'), 'No repository is in this state.\n');
    t.match(await said('usage --per file'), /^2: .*owner, repository/);
    t.match(await said('usage alice --per repository'), /^2: .*--per: not with an owner/);
    const pools = await said('group usage lab');
    t.match(pools, /^RULE +USED TOGETHER +LIMIT +PERCENT +STATE\ntogether +1\.\d+ MB +10 MB +15 % +ok\n\n/);
    t.match(pools, /\nMEMBER +together\nalice +1\.\d+ MB\n$/);
    t.match(JSON.parse(await said('group usage lab --top 1 --json')), { members: [{ owner: 'alice' }] });
    t.match(await said('group usage plain'), /^No rule limits the members of plain together/);
    t.match(await said('group usage nobody'), /^1: .*there is no group nobody/);
  },
);

t.test('help is wrapped once: no line is broken off that has room for the next word', t => {
  const width = 100;
  for (const [name, command] of commandsOf(program)) {
    command.configureOutput({ getOutHelpWidth: () => width });
    const lines = command.helpInformation().split('\n');
    for (const [index, line] of lines.entries()) {
      const next = lines[index + 1] ?? '';
      const isProse = /^[A-Z]?[a-z]/.test(line) && /^[a-z]/.test(next) && !/[.:]$/.test(line);
      if (!isProse) continue;
      const [word = ''] = next.split(' ');
      t.ok(line.length + 1 + word.length > width, `${name}: ${line}`);
    }
  }
  t.end();
});

t.test('--config stands before the command, between it and its subcommand, or behind both', async t => {
  const bare = (args: readonly string[]) => run(process.execPath, [launcher, ...args], { cwd: '/' });
  const { config } = server;
  for (const args of [
    ['--config', config, 'usage'],
    [`--config=${config}`, 'usage'],
    ['usage', '--config', config],
    ['--config', config, 'group', 'list'],
    ['group', '--config', config, 'list'],
    ['group', 'list', '--config', config],
    ['--config', '/no/such.ini', 'group', 'list', '--config', config],
  ]) {
    const { code, stderr } = await bare(args);
    t.equal(code, 0, `${args.join(' ')}: ${stderr}`);
  }
  t.equal((await bare(['--config', '/no/such.ini', 'usage'])).code, 78);
});

t.test('commands exit with 0, 1, 2, 69, 77 and 78 for what they say', async t => {
  const bare = server.path('alice/app');
  const statuses: readonly (readonly [number, string])[] = [
    [0, 'check bob'],
    [0, 'check never-heard-of --subject size:all'],
    [1, `check ${bare}`],
    [1, 'check alice --subject size:git:lfs'],
    [2, 'check alice --subject size:nonsense'],
    [2, 'check alice --size much'],
    [2, 'check'],
    [2, 'usage --top 1 --top 2'],
    [1, 'usage nobody'],
    [1, 'history nobody'],
    [1, 'member list alice'],
    [2, 'events --limit 0'],
    [2, 'events --kind nonsense'],
    [2, 'nonsense'],
    [2, '--json usage'],
    [2, 'scan --nonsense'],
    [0, 'scan alice'],
    [1, 'scan alice nobody'],
    [0, `hooks status ${join(server.folder, 'git')}`],
    [1, `hooks status ${join(server.folder, 'git')} ${join(server.folder, 'gone')}`],
    [1, `hooks install ${join(server.folder, 'git')} ${join(server.folder, 'gone')}`],
    [0, 'doctor'],
  ];
  await Promise.all(
    statuses.map(async ([status, line]) => {
      t.equal((await server.softquota(line)).code, status, line);
    }),
  );

  const early = await server.softquota('--json usage');
  t.match(early.stderr, /^error: --json stands after the command: softquota usage … --json\n/);

  // By itself: on a busy host a disk may be too slow to say what an unknown path is, which is 69.
  t.equal((await server.softquota('check /nowhere/at/all')).code, 1);

  await chmod(server.folder, 0o755);
  for (const line of ['usage', 'scan', 'check alice']) {
    const other = await asNobody(`${line} --config ${server.config}`);
    t.equal(other.code, 77, `${line}: ${other.stderr}`);
    t.match(other.stderr, /no permission to use .*\.sock/);
  }
  await server.stop();
  for (const line of ['usage', 'scan', 'check alice']) {
    const { code, stderr } = await server.softquota(line);
    t.equal(code, 69, line);
    t.match(
      stderr,
      /^softquota: no daemon answers at .*Start it with softquota serve --config \/.*app\.ini\n$/,
    );
  }
  t.match(await server.softquota('doctor'), { code: 1, stdout: /no daemon answers/ });
  for (const line of ['usage', 'check alice', 'serve'])
    t.equal((await server.softquota(`${line} --config /nowhere/app.ini`)).code, 78);
});

t.test(
  'check asks about an owner with a slash, as subgroups of GitLab have, unless the path exists',
  async t => {
    const server = await Server.open(t, {
      repositories: ['alice/app'],
      ini: { 'quota.default': { TOTAL: '1M' } },
    });
    await server.reports('acme/tools', 2_000_000);
    const cwd = join(server.folder, 'git');
    const check = (asked: string) => server.softquota(`check ${asked} --subject size:git:lfs`, { cwd });
    t.match(await check('acme/tools'), { code: 1, stdout: /^refused\. .*acme\/tools uses 2 MB/ });
    t.match(await check('alice/app.git'), { code: 0 });
    for (const path of ['./acme/tools', '../git/acme/tools'])
      t.match(await check(path), { code: 1, stderr: /acme\/tools/ }, path);
  },
);

t.test('what is so already is done, and something else of the name is not', async t => {
  const server = await Server.open(t);
  const create = 'rule create total --subject size:all --limit';
  for (const line of [
    ...[`${create} 1G`, 'group create free --rule total', 'user create alice'],
    ...['user create acme --type organization', 'group add-user free alice', 'member add acme alice'],
    ...['group create paid', 'group add-rule paid total'],
  ])
    for (const time of ['first', 'second'])
      t.equal((await server.softquota(line)).code, 0, `${line}, the ${time} time`);
  const other = await server.softquota(`${create} 2G`);
  t.match(other, { code: 1, stderr: /the rule total exists already/ });
  t.match(await server.softquota('user create acme'), { code: 0, stdout: /There is already acme/ });
  t.match(await server.softquota('user create acme --type user'), { code: 1 });
  for (const line of [
    ...['group remove-user free acme', 'group remove-rule paid total', 'group remove-rule paid total'],
    ...['member remove acme alice', 'member remove acme alice'],
  ])
    t.equal((await server.softquota(line)).code, 0, line);
  t.match(await server.softquota('group remove-user free nobody'), { code: 1 });
});

t.test('events, explain, history and member show people what the API has', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'] });
  await server.done('rule create total --limit 2G --subject size:all');
  await server.done('group create free --rule total');
  await server.done('group add-user free alice');
  await server.done('user create acme --type organization');
  t.equal(await server.done('member add acme alice --role owner'), 'alice is now an owner of acme.\n');
  t.match(await server.done('member list acme'), /^NAME +ROLE.*\nalice +owner\n$/);
  const events = await server.done('events');
  t.match(events, /^TIME +OWNER +EVENT\n.*created members acme, by the host's administrator\n/);
  t.match(events, /created rule total/);
  t.match(await server.done('events --owner alice --kind policy'), /edited the groups of alice/);
  const explained = await server.done('explain alice --subject size:git:lfs');
  t.match(explained, /^alice, LFS objects \(size:git:lfs\): allowed\./);
  t.match(explained, /\n {2}group free allows\n {2}\* rule total: .* of 2 GB \(size:all\): allows\n$/);
  t.match(await server.done('history alice --range day'), /^TIME +USED +REPOSITORIES +LFS +OTHER\n\d{4}-/);
});

t.test('every command takes --config', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'] });
  const git = join(server.folder, 'git');
  const takes = (command: Command): boolean => command.options.some(({ long }) => long === '--config');
  const leaves = [...commandsOf(program)].filter(([, { commands }]) => commands.length === 0);
  t.strictSame(
    leaves.flatMap(([name, command]) => (takes(command) ? [] : [name])),
    [],
  );

  const config = ['--config', server.config];
  const status = ['hooks', 'status', git, ...config];
  t.match(await server.softquota(status), { code: 0, stdout: /1 repository, all with working hooks\.\n$/ });
  const elsewhere = join(server.folder, 'elsewhere.ini');
  await writeFile(elsewhere, '[server]\nSOCKET = /run/elsewhere.sock\n');
  const named = await server.softquota(['hooks', 'status', ...config]);
  t.same(named, { ...(await server.softquota(status)), elapsedMs: named.elapsedMs }, 'those of app.ini');
  t.match(await server.softquota(['hooks', 'status', git, '--config', elsewhere]), {
    code: 1,
    stdout: /asks at \S+gate\.sock by \w+, .*not at \/run\/elsewhere\.sock\n.*1 with another socket/s,
  });
  t.match(await server.softquota(['hooks', 'remove', ...config, git]), { code: 0 });
  t.match(await server.softquota(['playground', '--exit', '--dir', git, ...config]), {
    code: 1,
    stderr: /is not a playground/,
  });
});

t.test('a working copy is named with the line that includes it, and why knows it by its name', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'], started: false });
  const git = join(server.path('alice/app'), '../..');
  await server.configure({ 'storage.repos': { PATH: `${git}/{owner}/{repo}` } });
  const copy = join(git, 'carol/work/.git');
  await must('git', ['init', '-q', join(copy, '..')]);
  await must('git', ['init', '-q', '--bare', join(git, 'carol/bare')]);
  const line = `softquota hooks install ${copy}`;
  const installed = await server.softquota(['hooks', 'install', git]);
  t.match(installed, { code: 0, stderr: `${copy} is not bare, and left out; to include it: ${line}\n` });
  t.match(installed.stdout, `${join(git, 'carol/bare')}: pre-receive installed`);
  t.match(await server.softquota(line.split(' ').slice(1)), {
    code: 0,
    stdout: `${copy}: pre-receive installed`,
  });
  await server.start();
  await server.softquota('scan');
  t.match(await server.softquota('why carol/work'), { stderr: /no worker runs on this host/ });
});

t.test('hooks install fails where git would not look, and for GitLab’s repositories', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'], started: false });
  const bare = server.path('alice/app');
  const site = join(server.folder, 'site');
  const set = (...change: readonly string[]) =>
    must('git', ['config', '--file', join(bare, 'config'), ...change]);
  await set('core.hooksPath', site);
  const install = () => server.softquota(['hooks', 'install', bare]);
  t.match(await install(), { code: 1, stdout: /git does not run these hooks: core\.hooksPath = / });
  t.match(await server.softquota(['hooks', 'status', bare]), {
    code: 1,
    stdout:
      /git does not run them: core\.hooksPath.*, 1 where core\.hooksPath leads elsewhere \(mend: softquota doctor\)\.\n$/s,
  });
  await mkdir(site);
  for (const name of ['pre-receive', 'post-receive'])
    await copyFile(join(bare, 'hooks', name), join(site, name));
  t.match(await install(), {
    code: 0,
    stdout: /git runs the softquota hooks in \S+site, because of core\.hooksPath/,
  });
  t.notMatch((await install()).stdout, /git config --system core\.hooksPath/, 'no advice to set it');
  t.match(await server.softquota(['hooks', 'status', bare]), {
    code: 0,
    stdout: /because of core\.hooksPath/,
  });
  await set('--unset', 'core.hooksPath');
  await set('gitlab.fullpath', 'alice/app');
  t.match(await install(), {
    code: 1,
    stdout: /a GitLab repository \(its config has gitlab\.fullpath.*no push is checked or refused/,
  });
  const odd = join(server.folder, 'git/odd.git');
  await must('git', ['init', '-q', '--bare', odd]);
  await writeFile(join(odd, 'config'), '[core\n');
  t.match(await server.softquota(['hooks', 'status', odd]), {
    code: 1,
    stdout: /git cannot read line 1\n1 repository, 1 that could not be checked\.\n$/,
  });
  await rm(odd, { recursive: true });
  t.match(await server.softquota(['hooks', 'status', bare]), {
    code: 1,
    stdout: /1 of GitLab, which runs no hooks\.\n$/,
  });
  t.match(await server.softquota('doctor'), { code: 1, stdout: /\(hook\): .*gitlab\.fullpath/ });
});

t.test('install says what goes into the app.ini of Gitea, and nothing that has no effect there', async t => {
  const server = await Server.open(t, { started: false });
  // Nobody but its owner writes there.
  await chmod(server.folder, 0o755);
  const repository = await server.repository('alice/app');
  const root = join(server.folder, 'git');
  const template = join(root, '.softquota/template');
  const install = (...args: readonly string[]) => server.softquota(['hooks', 'install', ...args, root]);
  await makeForgeHooks(repository);
  const { code, stdout } = await install();
  t.equal(code, 0, stdout);
  t.match(stdout, `${repository}: pre-receive installed, post-receive installed`);
  t.match(stdout, `    [git.config]\n    init.templateDir = ${template}\n`);
  t.notMatch(stdout, /git config --system|core\.hooksPath/);
  const json = JSON.parse((await install('--json')).stdout);
  t.match(json.forges, [{ root, template, fault: null, lines: ['[git.config]', /^init\.templateDir = /] }]);

  const removed = await server.softquota(['hooks', 'remove', root]);
  t.equal(removed.code, 0);
  t.match(
    removed.stdout,
    `${template} is removed: take init.templateDir out of the configuration of the forge.`,
  );
  t.strictSame((await readdir(root)).sort(), ['alice']);
});

const built = fileURLToPath(new URL('../../scripts/built.js', import.meta.url));

/** Tells at its end what of Node itself the program has loaded. */
const telling =
  'data:text/javascript,process.on("exit",()=>process.stderr.write(process.moduleLoadList.join("\\n")))';

for (const command of ['usage', 'health', 'policy export']) {
  t.test(`softquota ${command} asks over a socket without TLS`, async t => {
    const args = ['--import', telling, built, ...command.split(' ')];
    const { stderr } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      env: { ...process.env, SOFTQUOTA_SERVER_ADMIN_SOCKET: '/nowhere/admin.sock' },
    });
    t.match(stderr, /NativeModule http$/m);
    t.notMatch(stderr, /NativeModule (https|tls|internal\/deps\/undici\/undici)$/m);
  });
}
