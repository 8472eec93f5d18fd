/** Putting the hooks into repositories: what is there afterwards, and what became of what was there. */

import {
  appendFile,
  chmod,
  chown,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Folder } from '../../../src/git/hooks/folder.ts';
import { configOf, writeSettings } from '../../../src/git/hooks/settings.ts';
import {
  type HookName,
  hooksStatus,
  type InstallOptions,
  installHooks,
  isProtected,
  packageShared,
  parseLastFor,
  parseOnError,
  removeHooks,
  stub,
} from '../../../src/git/index.ts';
import { Gate, refused } from '../../hooks/gate.ts';
import { Server, snapshot } from './server.ts';

const socket = '/run/softquota/gate.sock';
const stubbed = (name: HookName) => stub(name, packageShared()).toString();
const theirs = '#!/bin/sh\n# a hook of the admin\nexit 0\n';
const delegate = `#!/usr/bin/env bash
hookname=$(basename $0)
for hook in \${GIT_DIR}/hooks/\${hookname}.d/*; do "$hook"; done
`;

async function installed(t: Test) {
  const server = await Server.open(t);
  const repository = await server.repository('alice/app.git');
  const install = async (paths: readonly string[] = [repository]) => {
    const report = await installHooks(paths, { socket, hookConf: server.noConf });
    return report.repositories;
  };
  return { server, repository, install, at: (path: string) => join(repository, path) };
}

t.test('both hooks and the socket’s path are put in, and doing it again changes nothing', async t => {
  const { server, repository, install, at } = await installed(t);
  const hook = (name: string, did: string) => ({
    did,
    file: `hooks/${name}`,
    previous: null,
    skipped: false,
  });
  const result = (did: string, settings: string) => [
    {
      repository,
      hooks: { 'pre-receive': hook('pre-receive', did), 'post-receive': hook('post-receive', did) },
      settings,
      hooksPath: null,
    },
  ];
  t.same(await install(), result('installed', 'written'));
  t.equal(await readFile(at('hooks/pre-receive'), 'utf8'), stubbed('pre-receive'));
  t.equal(await readFile(at('hooks/post-receive'), 'utf8'), stubbed('post-receive'));
  t.equal((await stat(at('hooks/pre-receive'))).mode & 0o7777, 0o755);
  t.equal(await server.config(repository, 'softquota.socket'), socket);
  t.equal(await server.config(repository, 'core.bare'), 'true');
  const before = await snapshot(repository);
  t.same(await install(), result('unchanged', 'unchanged'));
  t.same(await snapshot(repository), before);
  t.same(
    (await readdir(repository)).filter(name => name.includes('lock') || name.startsWith('.')),
    [],
    'nothing is left lying about',
  );
});

t.test('a push to an installed repository is refused by the gate', async t => {
  const server = await Server.open(t);
  const repository = await server.repository('alice/app.git');
  const gate = await Gate.open(server.path('gate.sock'));
  t.teardown(() => gate.close());
  gate.answer = refused('Quota exceeded.\n');
  await installHooks([repository], { socket: gate.socket, onError: 'deny', hookConf: server.noConf });
  await server.git(['init', '-q', server.path('work')]);
  await server.git(['commit', '-q', '--allow-empty', '-m', 'x'], server.path('work'));
  const push = await server.git(['push', repository, 'HEAD:main'], server.path('work'));
  t.equal(push.code, 1);
  t.match(push.stderr, /remote: Quota exceeded\./);
  t.equal(gate.checks[0]?.parameters.get('path'), repository);
  t.equal(await server.config(repository, 'softquota.onError'), 'deny');
});

t.test(
  'a hook that was there goes on as 50-previous, with its mode, before it was ours and after',
  async t => {
    const { repository, install, at } = await installed(t);
    await writeFile(at('hooks/pre-receive'), theirs);
    await chmod(at('hooks/pre-receive'), 0o750);
    const [result] = await install();
    t.match(result, {
      hooks: {
        'pre-receive': { did: 'installed', previous: 'hooks/pre-receive.d/50-previous', skipped: false },
      },
    });
    t.equal(await readFile(at('hooks/pre-receive.d/50-previous'), 'utf8'), theirs);
    t.equal((await stat(at('hooks/pre-receive.d/50-previous'))).mode & 0o7777, 0o750);
    const before = await snapshot(repository);
    t.match(await install(), [{ hooks: { 'pre-receive': { did: 'unchanged' } } }]);
    t.same(await snapshot(repository), before);
  },
);

t.test('an installation that was cut off after it kept the old hook is taken up again', async t => {
  const { server, install, at } = await installed(t);
  await server.file(at('hooks/pre-receive'), theirs);
  await server.file(at('hooks/pre-receive.d/50-previous'), theirs);
  t.match(await install(), [{ hooks: { 'pre-receive': { did: 'installed' } } }]);
  t.equal(await readFile(at('hooks/pre-receive.d/50-previous'), 'utf8'), theirs);
});

t.test('where 50-previous is taken by another hook, nothing in the repository is changed', async t => {
  const { server, repository, install, at } = await installed(t);
  await server.file(at('hooks/post-receive'), theirs);
  await server.file(at('hooks/post-receive.d/50-previous'), '#!/bin/sh\nexit 1\n');
  const before = await snapshot(repository);
  t.match(await install(), [
    { fault: /hooks\/post-receive and post-receive\.d\/50-previous are two different hooks/ },
  ]);
  t.same(await snapshot(repository), before);
});

t.test('a forge’s hook that runs pre-receive.d itself stays, and gets one more file there', async t => {
  const { server, install, at } = await installed(t);
  for (const [name, text] of [
    ['pre-receive', delegate],
    ['post-receive', '#!/bin/sh\nfor h in "$(dirname "$0")"/post-receive.d/*; do $h; done\n'],
  ] as const) {
    await server.file(at(`hooks/${name}`), text);
    await server.file(at(`hooks/${name}.d/gitea`), theirs);
  }
  t.match(await install(), [
    {
      hooks: {
        'pre-receive': { did: 'installed', file: 'hooks/pre-receive.d/00-softquota', previous: null },
        'post-receive': { did: 'installed', file: 'hooks/post-receive.d/00-softquota', previous: null },
      },
    },
  ]);
  t.equal(await readFile(at('hooks/pre-receive'), 'utf8'), delegate);
  t.equal(await readFile(at('hooks/pre-receive.d/00-softquota'), 'utf8'), stubbed('pre-receive'));
  t.match(await install(), [
    { hooks: { 'pre-receive': { did: 'unchanged' }, 'post-receive': { did: 'unchanged' } } },
  ]);
  await server.file(at('hooks/pre-receive'), theirs);
  t.match(await install(), [{ hooks: { 'pre-receive': { did: 'installed', file: 'hooks/pre-receive' } } }]);
  t.same(
    (await readdir(at('hooks/pre-receive.d'))).sort(),
    ['50-previous', 'gitea'],
    'it does not ask twice',
  );
});

t.test('a forge’s hook that is not executable runs nothing, so ours does not rely on it', async t => {
  const { server, install, at } = await installed(t);
  await server.file(at('hooks/pre-receive'), delegate, 0o644);
  await server.file(at('hooks/pre-receive.d/gitea'), theirs);
  t.match(await install(), [{ hooks: { 'pre-receive': { file: 'hooks/pre-receive', skipped: true } } }]);
  t.equal((await stat(at('hooks/pre-receive.d/50-previous'))).mode & 0o7777, 0o644);
});

t.test('an older version of ours is replaced in its place, also one that lost its mode', async t => {
  const { server, repository, install, at } = await installed(t);
  await server.file(at('hooks/pre-receive'), '#!/bin/sh\n# softquota hook: pre-receive\nexit 0\n');
  await server.file(at('hooks/post-receive'), stubbed('post-receive'), 0o644);
  const state = { state: 'installed', current: false, previous: false };
  t.match(await hooksStatus([repository], { hookConf: server.noConf }), {
    repositories: [{ hooks: { 'pre-receive': state, 'post-receive': state } }],
  });
  t.match(await install(), [
    { hooks: { 'pre-receive': { did: 'updated' }, 'post-receive': { did: 'updated' } } },
  ]);
  t.equal(await readFile(at('hooks/pre-receive'), 'utf8'), stubbed('pre-receive'));
  t.notOk((await readdir(at('hooks'))).includes('pre-receive.d'));
});

t.test('nothing is written through a link, whatever it stands for', async t => {
  const { server, install } = await installed(t);
  const aim = server.path('aim');
  await mkdir(aim);
  await server.file(join(aim, 'file'), 'outside\n');
  const before = await snapshot(aim);
  const links: readonly [string, string][] = [
    ['hooks', aim],
    ['hooks/pre-receive', join(aim, 'file')],
    ['hooks/post-receive', join(aim, 'nothing')],
    ['hooks/pre-receive.d', aim],
    ['hooks/pre-receive.d/50-previous', join(aim, 'file')],
    ['hooks/post-receive.d/00-softquota', join(aim, 'file')],
    ['config', join(aim, 'file')],
  ];
  for (const [index, [link, target]] of links.entries()) {
    const repository = await server.repository(`r${index}.git`);
    const at = join(repository, link);
    await rm(at, { recursive: true, force: true });
    await mkdir(join(at, '..'), { recursive: true });
    await symlink(target, at);
    const own = await snapshot(repository);
    const [result] = await install([repository]);
    t.match(result, { repository, fault: `${at} is a symbolic link, and nothing is written through a link` });
    t.same(await snapshot(repository), own, link);
    const status = await hooksStatus([repository]);
    t.notOk(status.repositories.every(isProtected), 'nor does it count as ours');
  }
  await symlink(await server.repository('real.git'), server.path('link.git'));
  t.match(await install([server.path('link.git')]), [{ fault: /./ }]);
  await symlink(server.root, server.path('up'));
  t.match(await install([server.path('up/real.git')]), [{ fault: /expected a path without links/ }]);
  t.same(await snapshot(server.path('real.git/hooks')), {
    '/': (await snapshot(server.path('real.git/hooks')))['/'],
  });
  t.same(await snapshot(aim), before);
});

t.test('a fault of one repository keeps none of the others from getting their hooks', async t => {
  const { server, repository, install } = await installed(t);
  const locked = await server.repository('locked.git');
  await writeFile(join(locked, 'config.lock'), '');
  const odd = await server.repository('odd.git');
  await mkdir(join(odd, 'hooks/pre-receive'));
  const results = await install([server.path('missing.git'), locked, odd, repository]);
  t.match(results, [
    { fault: 'no such file or directory (ENOENT)' },
    { fault: /another program is changing the configuration: .*config\.lock exists/ },
    { fault: /hooks\/pre-receive is not a regular file/ },
    { hooks: { 'pre-receive': { did: 'installed' } } },
  ]);
});

t.test('a configuration that another program changes meanwhile keeps what that wrote', async t => {
  const { repository, at } = await installed(t);
  const folder = await Folder.open(repository);
  t.teardown(() => folder.close());
  const seen = await configOf(folder);
  const belonging = { mode: 0o644, uid: seen.stats.uid, gid: seen.stats.gid };
  await appendFile(at('config'), '[other]\n\tkey = value\n');
  await t.rejects(
    folder.writeLocked(seen, 'config', Buffer.from('[ours]\n'), belonging),
    /changed .* meanwhile/,
  );
  t.match(await readFile(at('config'), 'utf8'), '[other]');
  await t.rejects(stat(at('config.lock')), { code: 'ENOENT' });
  await writeSettings(folder, { onError: 'deny' });
  t.match(await readFile(at('config'), 'utf8'), /\[other\][\s\S]*onerror = deny/i);
});

t.test('files belong to whom the repository belongs to, and a closed repository stays closed', async t => {
  const { repository, install, at } = await installed(t);
  const [uid, gid] =
    process.getuid?.() === 0 ? [12345, 12346] : [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  await rm(at('hooks'), { recursive: true });
  for (const path of ['', 'config']) await chown(at(path), uid, gid);
  await chmod(at('config'), 0o600);
  await chmod(repository, 0o750);
  await install();
  const owner = `${uid}:${gid}`;
  t.match(await snapshot(repository), {
    config: new RegExp(`^600 ${owner} `),
    'hooks/': `750 ${owner}`,
    'hooks/pre-receive': new RegExp(`^750 ${owner} `),
  });
});

t.test('where hook.conf exists it counts, so nothing is written into a repository’s config', async t => {
  const { server, repository } = await installed(t);
  const hookConf = server.path('hook.conf');
  await writeFile(hookConf, '# ours\nsocket = /elsewhere.sock\n');
  await chmod(hookConf, 0o644);
  const report = await installHooks([repository], { socket, hookConf });
  t.match(report, { hookConf: { socket: '/elsewhere.sock' }, repositories: [{ settings: null }] });
  t.equal(report.hookConf?.believed, process.getuid?.() === 0);
  t.equal(await server.config(repository, 'softquota.socket'), '');
  await chmod(hookConf, 0o666);
  t.match(await hooksStatus([repository], { hookConf }), { hookConf: { believed: false } });
});

t.test('core.hooksPath is reported where git would pass over the repository’s hooks', async t => {
  const { server, repository, install } = await installed(t);
  const set = (path: string) =>
    server.git(['config', '--file', join(repository, 'config'), 'core.hooksPath', path]);
  await set('/site/hooks');
  const found = { path: '/site/hooks', from: `${repository}/config` };
  t.match(await install(), [{ hooksPath: found }]);
  t.match(await hooksStatus([repository]), { repositories: [{ hooksPath: found, settings: { socket } }] });
  await set(join(repository, 'hooks'));
  t.match(await install(), [{ hooksPath: null }]);
});

t.test('how later repositories get the hooks is told in commands that work', async t => {
  const { server, install } = await installed(t);
  await install();
  const { future } = await installHooks([], {
    socket: "/run/it's here/gate.sock",
    client: 'nc',
    hookConf: server.noConf,
  });
  const etc = server.path('etc');
  const local = (lines: readonly string[]) => lines.join('\n').replaceAll('/etc/softquota', etc);
  const env = { GIT_CONFIG_SYSTEM: join(etc, 'gitconfig'), GIT_CONFIG_NOSYSTEM: '0' };
  await mkdir(etc);
  const shell = (text: string) => server.git(['-c', `alias.x=!${text}`, 'x'], server.root, env);
  await writeFile(server.path('template.sh'), `set -e\n${local(future.templateDir)}\n`);
  t.match(await shell(`sh ${server.path('template.sh')}`), { code: 0 });
  await server.git(['init', '-q', '--bare', server.path('new.git')], server.root, env);
  t.match(await hooksStatus([server.path('new.git')], { hookConf: server.noConf }), {
    repositories: [
      {
        hooks: { 'pre-receive': { state: 'installed', current: true }, 'post-receive': { current: true } },
        settings: { socket: "/run/it's here/gate.sock", client: 'nc' },
      },
    ],
  });
  await writeFile(server.path('conf.sh'), `set -e\n${local(future.hookConf)}\n`);
  t.match(await shell(`sh ${server.path('conf.sh')}`), { code: 0 });
  t.equal(await readFile(join(etc, 'hook.conf'), 'utf8'), "socket=/run/it's here/gate.sock\nclient=nc\n");
});

t.test(
  'onError and lastFor are written where they are given, stay where they are not, and are told',
  async t => {
    const { server, repository } = await installed(t);
    const install = (more: Partial<InstallOptions> = {}) =>
      installHooks([repository], { socket: '/s', client: 'curl', hookConf: server.noConf, ...more });
    t.match(await install({ onError: 'last', lastFor: '7d' }), { repositories: [{ settings: 'written' }] });
    t.match(await install({ lastFor: '7d' }), { repositories: [{ settings: 'unchanged' }] });
    t.match(await install({ lastFor: '48h' }), { repositories: [{ settings: 'written' }] });
    t.match(await install(), { repositories: [{ settings: 'unchanged' }] });
    t.match(await hooksStatus([repository], { hookConf: server.noConf }), {
      repositories: [{ settings: { socket: '/s', onError: 'last', lastFor: '48h', timeout: null } }],
    });
    const { future } = await install({ onError: 'deny', lastFor: '48h' });
    const conf = server.path('hook.conf');
    const [, writes = ''] = future.hookConf;
    await server.git(['-c', `alias.x=!${writes.replace('/etc/softquota/hook.conf', conf)}`, 'x']);
    t.equal(await readFile(conf, 'utf8'), 'socket=/s\nonError=deny\nlastFor=48h\n');
    for (const lines of [future.templateDir, future.gitoliteConf]) {
      t.match(lines.join('\n'), /softquota\.lastFor( =)? 48h/);
    }
  },
);

t.test('the program that asks is the quickest that works, and written unless it is curl', async t => {
  const { server, repository } = await installed(t);
  const install = (more: Partial<InstallOptions> = {}) =>
    installHooks([repository], { socket: '/s', hookConf: server.noConf, ...more });
  const client = () => server.config(repository, 'softquota.client');
  t.match(await install(), { client: 'nc', repositories: [{ settings: 'written' }] });
  t.equal(await client(), 'nc');
  t.match(await install({ client: 'curl' }), { client: 'curl', repositories: [{ settings: 'written' }] });
  t.equal(await client(), '');
  t.match(await install({ client: 'curl' }), { repositories: [{ settings: 'unchanged' }] });
  t.match(await install({ client: 'socat' }), { repositories: [{ settings: 'written' }] });
  t.equal(await client(), 'socat');
  await removeHooks([repository]);
  t.equal(await client(), '');
});

t.test('lastFor is a number of hours or days', async t => {
  for (const age of ['1h', '24h', '7d', '999d']) t.equal(parseLastFor(age), age);
  for (const none of ['24', '0h', '1000d', '90m', '']) t.throws(() => parseLastFor(none), { code: 'usage' });
});

t.test('onError is allow, deny or last', async t => {
  for (const policy of ['allow', 'deny', 'last']) t.equal(parseOnError(policy), policy);
  t.throws(() => parseOnError('Last'), {
    code: 'usage',
    message: /is not known; expected allow, deny or last$/,
  });
});
