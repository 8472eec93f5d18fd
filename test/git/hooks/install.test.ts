/**
 * Putting the hooks into repositories: what is there afterwards, and what became of what was there. Taking
 * them out leaves a repository as it was.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
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
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { workOnHooks } from '../../../src/commands/hooks-work.ts';
import { belongingOf, Folder } from '../../../src/git/hooks/folder.ts';
import { defaultSettings, type HookName, parsePolicies, settingsIn } from '../../../src/git/hooks/hook.ts';
import {
  filled,
  findRepositories,
  hooksStatus,
  installGlobally,
  installHooks,
  isProtected,
  removeHooks,
  writePrograms,
} from '../../../src/git/index.ts';
import { Server, snapshot } from './server.ts';

const socket = '/run/softquota/gate.sock';
const wanted = { socket, client: 'nc' } as const;
const ours = (name: HookName, more = {}) =>
  filled(name, { ...defaultSettings, ...wanted, ...more }).toString();
const theirs = '#!/bin/sh\n# a hook of the admin\nexit 0\n';
const delegate = `#!/usr/bin/env bash
hookname=$(basename $0)
for hook in \${GIT_DIR}/hooks/\${hookname}.d/*; do "$hook"; done
`;

/** A result in which a hook, or both, are like this. */
const pre = (state: unknown) => ({ hooks: { 'pre-receive': state } });
const both = (state: unknown) => ({ hooks: { 'pre-receive': state, 'post-receive': state } });

async function installed(t: Test) {
  const server = await Server.open(t);
  const repository = await server.repository('alice/app.git');
  const install = async (paths: readonly string[] = [repository], more = {}) =>
    installHooks(paths, { ...wanted, ...more });
  return { server, repository, install, at: (path: string) => join(repository, path) };
}

t.test('both hooks are put in, and doing it again changes nothing', async t => {
  const { repository, install, at } = await installed(t);
  const hook = (name: string, did: string) => ({
    did,
    file: `hooks/${name}`,
    previous: null,
    skipped: false,
    blocked: null,
  });
  const result = (did: string) => [
    {
      repository,
      hooks: { 'pre-receive': hook('pre-receive', did), 'post-receive': hook('post-receive', did) },
      hooksPath: null,
    },
  ];
  t.same(await install(), result('installed'));
  t.equal(await readFile(at('hooks/pre-receive'), 'utf8'), ours('pre-receive'));
  t.equal(await readFile(at('hooks/post-receive'), 'utf8'), ours('post-receive'));
  t.equal((await stat(at('hooks/pre-receive'))).mode & 0o7777, 0o755);
  t.notMatch(await readFile(at('config'), 'utf8'), /softquota/);
  const before = await snapshot(repository);
  t.same(await install(), result('unchanged'));
  t.same(await snapshot(repository), before);
  t.same(
    (await readdir(repository)).filter(name => name.includes('lock') || name.startsWith('.')),
    [],
    'nothing is left lying about',
  );
});

t.test('a hook that was there goes on as 50-previous, with its mode, before and after', async t => {
  const { repository, install, at } = await installed(t);
  await writeFile(at('hooks/pre-receive'), theirs);
  await chmod(at('hooks/pre-receive'), 0o750);
  const [result] = await install();
  t.match(result, pre({ did: 'installed', previous: 'hooks/pre-receive.d/50-previous', skipped: false }));
  t.equal(await readFile(at('hooks/pre-receive.d/50-previous'), 'utf8'), theirs);
  t.equal((await stat(at('hooks/pre-receive.d/50-previous'))).mode & 0o7777, 0o750);
  const before = await snapshot(repository);
  t.match(await install(), [pre({ did: 'unchanged' })]);
  t.same(await snapshot(repository), before);
});

t.test('a hook that finds files beside itself is not moved, and what to do is said', async t => {
  const { server, repository, install, at } = await installed(t);
  for (const line of [
    'exec "$(dirname "$0")/check.py"',
    `. "\${0%/*}/lib.sh"`,
    'exec "/opt/githooks/$(basename "$0")"',
    `cd "$(dirname "\${BASH_SOURCE[0]}")"`,
    '[ $# -gt 0 ] && . $(dirname $0)/lib',
    'here=$(readlink -f "$0")',
    'case $(basename "$0") in pre-receive) exec /opt/check ;; esac',
  ]) {
    await server.file(at('hooks/pre-receive'), `#!/bin/bash\n${line}\n`);
    const before = await snapshot(repository);
    t.match(await install(), [
      { fault: /finds files by its own path .* move it there, make it work there, and run this again/ },
    ]);
    t.same(await snapshot(repository), before);
  }
  for (const line of [
    '# dirname "$0" was here',
    'logger -t "$(basename "$0")" hello',
    "basename x | awk '{print $0}'",
    'dirname '.repeat(100_000),
  ]) {
    await server.file(at('hooks/pre-receive'), `#!/bin/sh\n${line}\n`);
    t.match(await install(), [pre({ did: 'installed', previous: 'hooks/pre-receive.d/50-previous' })]);
    await removeHooks([repository]);
  }
});

t.test('a hook that names pre-receive.d of another place runs none of ours', async t => {
  const { server, repository, install, at } = await installed(t);
  const runs = async (line: string) => {
    await server.file(at('hooks/pre-receive'), `#!/bin/sh\n${line}\n`);
    const [result] = await install();
    await removeHooks([repository]);
    return result !== undefined && !('fault' in result) && result.hooks['pre-receive'].file;
  };
  for (const line of [
    'for h in /etc/git/pre-receive.d/*; do "$h" || exit 1; done',
    'for h in "/etc/git/$(basename hook).d/"*; do "$h"; done',
    '# once this was pre-receive.d',
    'exec /opt/hooks/pre-receive.default',
    'exec pre-receive.disabled',
    'echo "see pre-receive.d"',
    'ls "$HOME/x/pre-receive.d" ~/x/pre-receive.d',
    'for f in $(cat conf.d/x); do :; done',
    '$'.repeat(1_000_000),
    ':/'.repeat(500_000),
  ])
    t.equal(await runs(line), 'hooks/pre-receive', line.slice(0, 50));
  for (const line of [
    'for h in hooks/pre-receive.d/*; do "$h"; done',
    'for h in "$GIT_DIR"/hooks/pre-receive.d/*; do "$h"; done',
    `for h in ${at('hooks/pre-receive.d')}/*; do "$h"; done`,
    'for h in "/else/where/current/hooks/pre-receive.d/"*; do "$h"; done',
    'for d in /etc/git/pre-receive.d hooks/pre-receive.d; do run-parts $d; done',
    'exec run-parts "$(dirname "$0")/pre-receive.d"',
    `for h in \${0##*/}.d/*; do "$h"; done`,
  ])
    t.equal(await runs(line), 'hooks/pre-receive.d/00-softquota', line);
});

t.test('an installation that was cut off after it kept the old hook is taken up again', async t => {
  const { server, install, at } = await installed(t);
  await server.file(at('hooks/pre-receive'), theirs);
  await server.file(at('hooks/pre-receive.d/50-previous'), theirs);
  t.match(await install(), [pre({ did: 'installed' })]);
  t.equal(await readFile(at('hooks/pre-receive.d/50-previous'), 'utf8'), theirs);
});

t.test('a hook that its owner writes in place meanwhile goes on as it is in the end', async t => {
  const { server, install, at } = await installed(t);
  await server.file(at('hooks/pre-receive'), '');
  const installing = install();
  while (!existsSync(at('hooks/pre-receive.d/50-previous'))) await nextTurn();
  writeFileSync(at('hooks/pre-receive'), theirs);
  t.match(await installing, [pre({ did: 'installed' })]);
  t.equal(await readFile(at('hooks/pre-receive'), 'utf8'), ours('pre-receive'));
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
  t.equal(await readFile(at('hooks/pre-receive.d/00-softquota'), 'utf8'), ours('pre-receive'));
  t.match(await install(), [both({ did: 'unchanged' })]);
  await server.file(at('hooks/pre-receive'), theirs);
  t.match(await install(), [pre({ did: 'installed', file: 'hooks/pre-receive' })]);
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
  t.match(await install(), [pre({ file: 'hooks/pre-receive', skipped: true })]);
  t.equal((await stat(at('hooks/pre-receive.d/50-previous'))).mode & 0o7777, 0o644);
});

t.test('an older version of ours is replaced in its place, also one that lost its mode', async t => {
  const { server, repository, install, at } = await installed(t);
  await server.file(at('hooks/pre-receive'), '#!/bin/sh\n# softquota hook: pre-receive\nexit 0\n');
  await server.file(at('hooks/post-receive'), ours('post-receive'), 0o644);
  t.match(await hooksStatus([repository]), [
    {
      hooks: {
        'pre-receive': { state: 'older', settings: null },
        'post-receive': { state: 'blocked', blocked: 'it is not executable' },
      },
    },
  ]);
  t.match(await install(), [both({ did: 'updated' })]);
  t.equal(await readFile(at('hooks/pre-receive'), 'utf8'), ours('pre-receive'));
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
    t.match(result, { repository, fault: `${at} is a symbolic link, ` });
    t.same(await snapshot(repository), own, link);
    const status = await hooksStatus([repository]);
    t.notOk(status.every(isProtected), 'nor does it count as ours');
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
  const odd = await server.repository('odd.git');
  await mkdir(join(odd, 'hooks/pre-receive'));
  const results = await install([server.path('missing.git'), odd, repository]);
  t.match(results, [
    { fault: 'no such file or directory (ENOENT)' },
    { fault: /hooks\/pre-receive is not a regular file/ },
    pre({ did: 'installed' }),
  ]);
});

t.test('a file that another program changes meanwhile keeps what that wrote', async t => {
  const { repository, at } = await installed(t);
  const folder = await Folder.open(repository);
  t.teardown(() => folder.close());
  const seen = folder.entry('config');
  await appendFile(at('config'), '[other]\n\tkey = value\n');
  const belonging = belongingOf(await stat(at('config')));
  await t.rejects(folder.write('config', Buffer.from('[ours]\n'), belonging, seen), /changed .* meanwhile/);
  t.match(await readFile(at('config'), 'utf8'), '[other]');
  t.notMatch((await readdir(repository)).join(' '), 'softquota');
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

t.test('core.hooksPath is reported where git would pass over the repository’s hooks', async t => {
  const { server, repository, install } = await installed(t);
  const set = (path: string) =>
    server.git(['config', '--file', join(repository, 'config'), 'core.hooksPath', path]);
  await set('/site/hooks');
  const found = { path: '/site/hooks', from: `${repository}/config` };
  t.match(await install(), [{ hooksPath: found }]);
  t.match(await hooksStatus([repository]), [{ hooksPath: found }]);
  t.notOk((await hooksStatus([repository])).every(isProtected));
  await set(join(repository, 'hooks'));
  t.match(await install(), [{ hooksPath: null }]);
});

t.test('settings are written into the head where they are given, and stay where they are not', async t => {
  const { repository, install, at } = await installed(t);
  const settings = async () => settingsIn(await readFile(at('hooks/pre-receive')));
  await install([repository], { onError: 'deny', lastFor: 60 });
  t.same(await settings(), { ...wanted, onError: 'deny', lastFor: 60 });
  t.match(await install(), [pre({ did: 'unchanged' })]);
  t.match(await install([repository], { socket: "/run/it's here/gate.sock", client: 'curl' }), [
    both({ did: 'updated' }),
  ]);
  const changed = { socket: "/run/it's here/gate.sock", client: 'curl', onError: 'deny', lastFor: 60 };
  t.same(await settings(), changed);
  t.match(await hooksStatus([repository]), [pre({ state: 'ours', settings: changed })]);
  await t.rejects(
    installHooks([repository], { ...wanted, socket: '/a\nb' }).then(([result]) => {
      if (result !== undefined && 'fault' in result) throw new Error(result.fault);
    }),
    /cannot ask at the socket/,
  );
});

t.test('hooks that git cannot run are told as such when they are put in, and later', async t => {
  const { server, repository, install, at } = await installed(t);
  await install();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'noexec', 'none', at('hooks')]);
  t.teardown(() => execFileSync('umount', ['-l', at('hooks')]));
  const why = `its file system is mounted with noexec; mend: mount -o remount,exec ${at('hooks')}`;
  const blocked = both({ blocked: why });
  for (const did of ['installed', 'unchanged'])
    t.match(await install(), [{ hooks: { 'pre-receive': { did, blocked: why }, 'post-receive': { did } } }]);
  t.match(await hooksStatus([repository]), [blocked]);
  const options = { socket: '/run/gate.sock', client: 'curl' };
  const told = await workOnHooks({ act: 'install', roots: [repository], options });
  t.match(told, { output: new RegExp(`pre-receive updated \\(git cannot run it: ${why}\\)`), status: 1 });
  t.match(await workOnHooks({ act: 'status', roots: [repository], options: {} }), {
    output: new RegExp(`git cannot run hooks/pre-receive: ${why}.*1 that git cannot run`, 's'),
    status: 1,
  });
  const site = at('hooks/site');
  await server.git(['config', '--file', join(repository, 'config'), 'core.hooksPath', site]);
  t.match(await installGlobally(site, 'git', wanted), blocked);
  t.match(await hooksStatus([repository]), [{ hooksPath: { ours: false } }]);
  execFileSync('mount', ['-o', 'remount,exec', at('hooks')]);
  t.match(await hooksStatus([repository]), [{ hooksPath: { ours: true } }]);
});

t.test('of two files that git runs one after the other, the one that it cannot run is named', async t => {
  const { server, repository, install, at } = await installed(t);
  await server.file(at('hooks/pre-receive.d/gitea'), theirs);
  await install();
  await chmod(at('hooks/pre-receive'), 0o644);
  const pre = { state: 'blocked', file: 'hooks/pre-receive', blocked: 'it is not executable' };
  t.match(await hooksStatus([repository]), [{ hooks: { 'pre-receive': pre } }]);
});

t.test('one directory serves core.hooksPath, another one Gitaly, and a third other programs', async t => {
  const { server, repository } = await installed(t);
  const site = await installGlobally(server.path('site'), 'git', wanted);
  t.match(site, { directory: server.path('site'), hooks: { 'pre-receive': { file: 'hooks/pre-receive' } } });
  await server.git(['config', '--file', join(repository, 'config'), 'core.hooksPath', server.path('site')]);
  t.match(await hooksStatus([repository]), [{ hooksPath: { ours: true } }]);
  t.ok((await hooksStatus([repository])).every(isProtected));

  await server.file(server.path('custom_hooks/pre-receive.d/10-theirs'), theirs);
  await server.file(
    server.path('custom_hooks/pre-receive.d/00-softquota'),
    '#!/bin/sh\n# softquota hook: pre-receive\n',
  );
  t.match(await installGlobally(server.path('custom_hooks'), 'gitlab', wanted), {
    hooks: { 'pre-receive': { did: 'updated' }, 'post-receive': { did: 'installed' } },
  });
  t.same((await readdir(server.path('custom_hooks'))).sort(), ['post-receive.d', 'pre-receive.d']);
  t.equal(
    await readFile(server.path('custom_hooks/pre-receive.d/00-softquota'), 'utf8'),
    ours('pre-receive'),
  );

  const programs = await writePrograms(server.path('lib'), wanted);
  t.same(
    programs,
    ['upload', 'quota', 'receive-pack/git', 'receive-pack/git-lfs-transfer'].map(name =>
      server.path('lib', name),
    ),
  );
  for (const program of programs) {
    t.same(settingsIn(await readFile(program)), { ...defaultSettings, ...wanted });
    t.equal((await stat(program)).mode & 0o7777, 0o755);
  }
});

t.test('repositories of submodules, which a pusher may name, are guarded as well', async t => {
  const { server, repository } = await installed(t);
  const inner = await server.repository('alice/app.git/modules/lib/x');
  const { repositories } = await findRepositories([server.root]);
  t.same(repositories, [repository, inner]);
});

t.test('lastFor is a number of hours or days', async t => {
  for (const [age, minutes] of [
    ['1h', 60],
    ['24h', 1440],
    ['7d', 10_080],
    ['999d', 1_438_560],
  ] as const)
    t.strictSame(parsePolicies({ lastFor: age }), { lastFor: minutes });
  for (const none of ['24', '0h', '1000d', '90m', ''])
    t.throws(() => parsePolicies({ lastFor: none }), { code: 'usage' });
});

t.test('onError is allow, deny or last', async t => {
  for (const policy of ['allow', 'deny', 'last'])
    t.strictSame(parsePolicies({ onError: policy }), { onError: policy });
  t.throws(() => parsePolicies({ onError: 'Last' }), {
    code: 'usage',
    message: /is not known; expected allow, deny or last$/,
  });
});

type Prepare = (at: (path: string) => string, server: Server) => Promise<void>;

for (const [name, prepare] of Object.entries<Prepare>({
  'without hooks': async () => {},
  'with hooks of its own': async (at, server) => {
    await server.file(at('hooks/pre-receive'), theirs, 0o775);
    await server.file(at('hooks/post-receive'), `${theirs}# post\n`, 0o644);
  },
  'with a folder of hooks': async (at, server) => {
    await server.file(at('hooks/pre-receive'), theirs);
    await server.file(at('hooks/pre-receive.d/10-other'), theirs);
  },
  'with a forge’s hook': async (at, server) => {
    await server.file(at('hooks/pre-receive'), delegate);
    await server.file(at('hooks/pre-receive.d/gitea'), theirs);
  },
})) {
  t.test(`a repository ${name} is after install and remove what it was before`, async t => {
    const { server, repository, install, at } = await installed(t);
    await prepare(at, server);
    const before = await snapshot(repository);
    await install();
    t.notSame(await snapshot(repository), before);
    t.match(await removeHooks([repository]), [{ repository }]);
    t.same(await snapshot(repository), before);
    t.match(await removeHooks([repository]), [both('absent')]);
    t.same(await snapshot(repository), before);
  });
}

t.test('hooks of other people are not touched', async t => {
  const { server, repository, install, at } = await installed(t);
  await install();
  await server.file(at('hooks/pre-receive'), theirs);
  t.match(await hooksStatus([repository]), [
    { hooks: { 'pre-receive': { state: 'foreign' }, 'post-receive': { state: 'ours' } } },
  ]);
  t.match(await removeHooks([repository, server.path('none.git')]), [
    { hooks: { 'pre-receive': 'absent', 'post-receive': 'removed' } },
    { fault: 'no such file or directory (ENOENT)' },
  ]);
  t.match(await snapshot(at('hooks')), { 'pre-receive': /exit 0/ });
});
