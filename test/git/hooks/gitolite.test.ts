/** Hooks of gitolite: their place, the user who asks it, and what keeps ours from going there. */

import { lstat, mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  commonStatus,
  distributeHooks,
  findGitolite,
  hooksStatus,
  installHooks,
  isProtected,
  withdrawHooks,
} from '../../../src/git/index.ts';
import { run } from '../../hooks/world.ts';
import { avoid } from '../../layout/avoid.ts';
import { Server } from './server.ts';

/** nobody: ssh-keygen, which gitolite uses, wants a user that the host knows. */
const uid = 65_534;
const theirs = '#!/bin/sh\n# a hook of the admin\nexit 0\n';

/** A gitolite of a user without rights, in a home of its own, with the repository `testing`. */
async function withGitolite(t: Test) {
  const server = await Server.open(t);
  const home = server.path('home');
  const passwd = server.path('passwd');
  await writeFile(passwd, `root:x:0:0::/nonexistent:/bin/sh\ngit:x:${uid}:${uid}:git:${home}:/bin/sh\n`);
  await mkdir(home);
  const asUser = async (...command: readonly string[]) => {
    const who = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', 'env', `HOME=${home}`];
    const { code, stderr } = await run('setpriv', [...who, ...command], { cwd: home });
    if (code !== 0) throw new Error(stderr);
  };
  await run('chmod', ['755', server.root]);
  await run('chown', ['-R', `${uid}:${uid}`, home]);
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', server.path('admin')]);
  await asUser('gitolite', 'setup', '-pk', server.path('admin.pub'));
  return {
    server,
    home,
    passwd,
    asUser,
    testing: join(home, 'repositories/testing.git'),
    common: join(home, '.gitolite/hooks/common'),
    find: () => findGitolite(home, { passwd }),
    options: { socket: '/run/softquota/gate.sock', client: 'nc' } as const,
    setLocalCode: async (line: string) => {
      const file = join(home, '.gitolite.rc');
      const text = await readFile(file, 'utf8');
      await writeFile(file, text.replace('%RC = (', `%RC = (\nLOCAL_CODE => "${line}",`));
    },
  };
}

t.test('it is found by its home, or alone among the homes of the host’s users', async t => {
  const { server, home, passwd, common, find } = await withGitolite(t);
  const found = { user: 'git', home, common, repositories: join(home, 'repositories'), overriding: null };
  t.match(await find(), found);
  t.match(await findGitolite('auto', { passwd }), found);
  await t.rejects(findGitolite(server.root, { passwd }), {
    code: 'usage',
    message: /is not the home directory of gitolite's user/,
  });
  await writeFile(passwd, 'root:x:0:0::/nonexistent:/bin/sh\n');
  await t.rejects(findGitolite('auto', { passwd }), { code: 'usage', message: /no user has gitolite/ });
  await mkdir(server.path('other'));
  await writeFile(server.path('other/.gitolite.rc'), '');
  const users = ['home', 'other'].map(name => `${name}:x:1:1::${server.path(name)}:/bin/sh\n`);
  await writeFile(passwd, users.join(''));
  await t.rejects(findGitolite('auto', { passwd }), {
    code: 'usage',
    message: /several users have gitolite/,
  });
});

t.test('its configuration is a program, which is run as its user and as nobody else', async t => {
  const { home, passwd, find, setLocalCode } = await withGitolite(t);
  await setLocalCode('$ENV{HOME}/by-$>');
  t.match(await find(), { common: `${home}/by-${uid}/hooks/common` });
  await t.rejects(findGitolite(home, { passwd, uid: 1 }), {
    code: 'not_permitted',
    message: 'run this as root, or as git, the user of gitolite',
  });
});

t.test('what lies there belongs to its user, and is linked into each repository', async t => {
  const { common, testing, find, options } = await withGitolite(t);
  const report = await distributeHooks(await find(), options);
  t.match(report.hooks, { 'pre-receive': { did: 'installed' }, 'post-receive': { did: 'installed' } });
  t.equal((await stat(join(common, 'pre-receive'))).uid, uid);
  t.equal(await readlink(join(testing, 'hooks/pre-receive')), join(common, 'pre-receive'));
  t.equal((await lstat(join(testing, 'hooks/pre-receive'))).uid, uid);
  const statuses = await hooksStatus([testing]);
  t.ok(statuses.every(isProtected));
  t.match(statuses, [{ hooks: { 'pre-receive': { settings: { socket: options.socket } } } }]);
  t.match((await commonStatus(await find())).hooks, { 'pre-receive': { state: 'ours' } });

  const again = await distributeHooks(await find(), options);
  t.match(again.hooks, { 'pre-receive': { did: 'unchanged' } });
  t.match(again.repositories, [{ hooks: { 'pre-receive': { did: 'unchanged' } } }, { hooks: {} }]);

  const withdrawn = await withdrawHooks(await find());
  t.match(withdrawn.hooks, { 'pre-receive': 'removed', 'post-receive': 'removed' });
  t.same(
    (await readdir(join(testing, 'hooks'))).filter(name => /receive$/.test(name)),
    [],
  );
  t.match((await commonStatus(await find())).hooks, { 'pre-receive': { state: 'absent' } });
});

t.test('an outdated hook behind a link does not count as this version’s', async t => {
  const { server, common, testing, find, options } = await withGitolite(t);
  await distributeHooks(await find(), options);
  await server.file(join(common, 'pre-receive'), '#!/bin/sh\n# softquota hook: pre-receive\nexit 0\n');
  const status = () => hooksStatus([testing]);
  t.match(await status(), [{ hooks: { 'pre-receive': { state: 'older' } } }]);
  t.notOk((await status()).every(isProtected));
  await rm(join(common, 'pre-receive'));
  t.match(await status(), [{ hooks: { 'pre-receive': { state: 'absent' } } }]);
  await rm(join(testing, 'hooks/pre-receive'));
  await symlink(server.root, join(testing, 'hooks/pre-receive'));
  t.match(await status(), [{ hooks: { 'pre-receive': { state: 'absent' } } }]);
});

t.test('a hook that a repository has for itself is not put to an end', async t => {
  const { server, testing, common, find, options } = await withGitolite(t);
  const own = join(testing, 'hooks/pre-receive');
  await server.file(own, theirs);
  await t.rejects(distributeHooks(await find(), options), {
    code: 'conflict',
    message: /testing\.git\/hooks\/pre-receive is the repository's own, .* softquota hooks install on that/,
  });
  t.equal(await readFile(own, 'utf8'), theirs);
  t.notOk((await readdir(common)).includes('pre-receive'), 'and nothing was done');

  await installHooks([testing], options);
  await distributeHooks(await find(), options);
  t.ok((await lstat(own)).isSymbolicLink());
  t.match(await hooksStatus([testing]), [{ hooks: { 'pre-receive': { state: 'ours' } } }]);
  t.equal(await readFile(join(testing, 'hooks/pre-receive.d/50-previous'), 'utf8'), theirs);

  await server.file(join(common, 'pre-receive.d/10-site'), theirs);
  await t.rejects(distributeHooks(await find(), options), {
    code: 'conflict',
    message: /testing\.git\/hooks\/pre-receive\.d is the repository's own, and gitolite cannot link/,
  });
});

t.test('what administrators push to gitolite-admin is theirs to change', async t => {
  const { server, home, find, options, setLocalCode } = await withGitolite(t);
  await setLocalCode('$rc{GL_ADMIN_BASE}/local');
  const pushed = join(home, '.gitolite/local/hooks/common/pre-receive');
  await server.file(pushed, theirs);
  await t.rejects(distributeHooks(await find(), options), {
    code: 'conflict',
    message: /comes from the repository gitolite-admin, whose next push would restore it/,
  });
  t.equal(await readFile(pushed, 'utf8'), theirs);
});

t.test('LOCAL_CODE is where the hooks go, unless what lies elsewhere would take their place', async t => {
  const { server, home, common, testing, find, options, setLocalCode } = await withGitolite(t);
  await setLocalCode('$ENV{HOME}/local');
  const overriding = join(common, 'post-receive');
  await server.file(overriding, theirs);
  await t.rejects(distributeHooks(await find(), options), {
    code: 'conflict',
    message: /hooks\/common\/post-receive overrides the file in .*\/local\/hooks\/common/,
  });
  await rm(overriding);
  await distributeHooks(await find(), options);
  const place = join(home, 'local/hooks/common/pre-receive');
  t.equal(await readlink(join(testing, 'hooks/pre-receive')), place);
});

/** Ours lies in gitolite's own folder; then LOCAL_CODE is set, with a hook of the site. */
async function withLaterLocalCode(t: Test) {
  const world = await withGitolite(t);
  await distributeHooks(await world.find(), world.options);
  await world.setLocalCode('$ENV{HOME}/local');
  const site = join(world.home, 'local/hooks/common/pre-receive');
  await world.server.file(site, theirs);
  await run('chown', ['-R', `${uid}:${uid}`, world.home]);
  return { ...world, site };
}

t.test('LOCAL_CODE set later: the hooks move there, and the hook of the site goes on', async t => {
  const { common, testing, find, options, site } = await withLaterLocalCode(t);
  const report = await distributeHooks(await find(), options);
  t.match(report.hooks, { 'pre-receive': { did: 'installed' } });
  t.equal(await readFile(join(site, '../pre-receive.d/50-previous'), 'utf8'), theirs);
  await t.rejects(lstat(join(common, 'pre-receive')), { code: 'ENOENT' });
  t.equal(await readlink(join(testing, 'hooks/pre-receive')), site);
});

t.test('LOCAL_CODE set later: the hooks are taken out where they were, and nothing else is lost', async t => {
  const { common, testing, find, options } = await withLaterLocalCode(t);
  await mkdir(join(common, 'pre-receive.d'));
  await t.rejects(distributeHooks(await find(), options), {
    code: 'conflict',
    message: /hooks\/common\/pre-receive\.d overrides the folder in .*\/local\/hooks\/common/,
  });
  t.ok(await lstat(join(common, 'pre-receive')), 'nothing was done');
  t.match((await withdrawHooks(await find())).hooks, { 'pre-receive': 'removed', 'post-receive': 'removed' });
  await t.rejects(lstat(join(common, 'pre-receive')), { code: 'ENOENT' });
  await t.rejects(lstat(join(testing, 'hooks/post-receive')), { code: 'ENOENT' });
});

t.test('a gitolite that fails is told with its own words', async t => {
  const { home, passwd, setLocalCode } = await withGitolite(t);
  await setLocalCode('a", die "broken here');
  await t.rejects(findGitolite(home, { passwd }), {
    code: 'conflict',
    message: /^gitolite query-rc -n GL_ADMIN_BASE, run as git: .*broken here/s,
  });
});

t.test('where a disk with repositories does not answer nothing is begun', async t => {
  const { home, common, testing, find, options } = await withGitolite(t);
  const far = join(home, 'repositories/far');
  await mkdir(far);
  avoid(t, far);
  const fault = {
    code: 'not_ready',
    message: new RegExp(`^${far}: the disk does not answer.*nothing was done`),
  };
  await t.rejects(distributeHooks(await find(), options), fault);
  t.notOk((await readdir(common)).includes('pre-receive'));
  await t.rejects(withdrawHooks(await find()), fault);
  t.match(await hooksStatus([testing]), [{ hooks: { 'pre-receive': { state: 'absent' } } }]);
});
