/** Stubs in repositories, and the one file that they run. */

import { chmod, chown, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  hooksStatus,
  type InstallOptions,
  installHooks,
  isProtected,
  packageShared,
  removeHooks,
  stub,
  writeShared,
} from '../../../src/git/index.ts';
import { allowed, Gate, plain, refused, warned } from '../../hooks/gate.ts';
import { hooksDirectory, run } from '../../hooks/world.ts';
import { Server } from './server.ts';

const whole = (name: string) => readFile(new URL(name, hooksDirectory), 'utf8');

async function open(t: Test) {
  const server = await Server.open(t);
  const repository = await server.repository('alice/app.git');
  const gate = await Gate.open(server.path('gate.sock'));
  t.teardown(() => gate.close());
  await server.git(['init', '-q', server.path('work')]);
  const at = (path: string) => join(repository, path);
  return {
    server,
    repository,
    gate,
    at,
    hook: () => readFile(at('hooks/pre-receive'), 'utf8'),
    install: (options: Partial<InstallOptions> = {}) =>
      installHooks([repository], { socket: gate.socket, hookConf: server.noConf, ...options }),
    isProtected: async () => {
      const { repositories } = await hooksStatus([repository], { hookConf: server.noConf });
      return repositories.every(isProtected);
    },
    push: async () => {
      await server.git(['commit', '-q', '--allow-empty', '-m', 'x'], server.path('work'));
      return server.git(['push', repository, 'HEAD:main'], server.path('work'));
    },
  };
}

t.test('what the hooks add to a repository is some hundred bytes', async t => {
  const { at, install } = await open(t);
  await install();
  let bytes = 0;
  for (const name of await readdir(at('hooks'))) bytes += (await stat(at(`hooks/${name}`))).size;
  t.ok(bytes < 2200, `${bytes} bytes`);
  t.ok(Buffer.byteLength(await whole('pre-receive')) > 20_000, 'a whole hook is larger');
});

t.test('a stub asks as the whole hook does', async t => {
  const { gate, install, push, repository } = await open(t);
  await install();
  t.equal((await push()).code, 0);
  gate.answer = refused('Quota exceeded.\n');
  const push2 = await push();
  t.equal(push2.code, 1);
  t.match(push2.stderr, /remote: Quota exceeded\./);
  t.same(
    gate.checks.map(({ parameters }) => parameters.get('path')),
    [repository, repository],
  );
  await gate.heard(1);
  t.equal(gate.changes.length, 1);
});

t.test('a whole hook becomes a stub at the next installation, and goes as one', async t => {
  const { server, repository, at, hook, install, isProtected } = await open(t);
  await install({ shared: 'none' });
  t.equal(await hook(), await whole('pre-receive'));
  t.ok(await isProtected(), 'it is as good as a stub');
  await writeFile(at('hooks/post-receive'), '#!/bin/sh\n# softquota hook: post-receive\nexit 0\n');
  const { repositories, wholeBecause } = await install();
  t.match(repositories, [
    { hooks: { 'pre-receive': { did: 'updated' }, 'post-receive': { did: 'updated' } } },
  ]);
  t.equal(wholeBecause, null);
  t.equal(await hook(), stub('pre-receive', packageShared()).toString());
  t.ok(await isProtected());
  t.match(await removeHooks([repository]), [
    { hooks: { 'pre-receive': 'removed', 'post-receive': 'removed' } },
  ]);
  t.same(await readdir(server.path('alice/app.git/hooks')), []);
});

t.test('a shared directory of one’s own is written, and kept by a later installation', async t => {
  const { server, gate, hook, install, isProtected, push } = await open(t);
  const shared = await writeShared(server.path('lib/hooks'));
  await install({ shared });
  t.equal(await hook(), stub('pre-receive', shared).toString());
  t.match(await install(), { repositories: [{ hooks: { 'pre-receive': { did: 'unchanged' } } }] });
  t.equal((await push()).code, 0);
  t.equal(gate.checks.length, 1);
  t.ok(await isProtected());

  await writeFile(join(shared, 'pre-receive'), '#!/bin/sh\n# softquota hook: pre-receive\nexit 0\n');
  t.notOk(await isProtected(), 'it is of another version');
  await writeShared(shared);
  t.ok(await isProtected());
  await rm(join(shared, 'post-receive'));
  t.notOk(await isProtected(), 'one is missing');
});

t.test('a stub whose file is gone starts one program for the names of thousands of refs', async t => {
  const { server, repository, at, install } = await open(t);
  const shared = await writeShared(server.path('lib/hooks'));
  await install({ shared });
  await rm(join(shared, 'pre-receive'));
  const input = `${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/topic\n`.repeat(2000);
  const log = server.path('log');
  const trace = server.path('trace');
  await server.file(at('hooks/pre-receive.d/50-previous'), `#!/bin/sh\ncat >${log}\n`);
  const command = ['-f', '-qq', '-e', 'trace=read', '-o', trace, at('hooks/pre-receive')];
  t.equal((await run('strace', command, { cwd: repository, input })).code, 0);
  t.equal(await readFile(log, 'utf8'), input);
  const reads = (await readFile(trace, 'utf8')).split('\n').length;
  t.ok(reads < 2000, `${reads} reads`);
});

t.test('no shared file is written through a link that another user may have put there', async t => {
  const { server, at } = await open(t);
  const aim = at('hooks');
  await symlink(server.path('alice'), server.path('ours'));
  t.equal(
    await writeShared(server.path('ours/lib')),
    server.path('alice/lib'),
    'a link of one’s own is followed',
  );
  if (process.getuid?.() !== 0) return;
  const before = await readdir(aim);
  const git = server.path('git');
  for (const [link, directory] of [
    ['.softquota/hooks', '.softquota/hooks'],
    ['links', 'links/hooks'],
  ] as const) {
    await mkdir(join(git, link, '..'), { recursive: true });
    await chown(git, 4242, 4242);
    await chown(join(git, link, '..'), 4242, 4242);
    await symlink(link === 'links' ? join(aim, '..') : aim, join(git, link));
    await t.rejects(writeShared(join(git, directory)), { code: 'conflict', message: /is a symbolic link/ });
    t.same(await readdir(aim), before, link);
  }
  await rm(join(git, '.softquota/hooks'));
  t.equal(await writeShared(join(git, '.softquota/hooks')), join(git, '.softquota/hooks'));
  t.equal((await stat(join(git, '.softquota/hooks'))).mode & 0o7777, 0o755);
});

t.test('later repositories get stubs only of what their owners can read', async t => {
  const { server, repository, gate, at, install } = await open(t);
  const shared = await writeShared(server.path('lib/hooks'));
  const stubs = /^sed /;
  t.ok(
    (await install({ shared })).future.templateDir.some(line => stubs.test(line)),
    'of root only',
  );
  if (process.getuid?.() !== 0) return;
  const whole = async (of: Promise<{ future: { templateDir: readonly string[] } }>) =>
    (await of).future.templateDir.some(line => line.startsWith('install -m 755 ') && !stubs.test(line));
  const none = () => installHooks([], { socket: gate.socket, hookConf: server.noConf, shared });
  t.ok(await whole(none()), 'the directory of the test is closed to others');
  for (const path of [repository, at('hooks'), at('config')]) await chown(path, 4242, 4242);
  t.ok(await whole(install({ shared })));
  await chmod(server.root, 0o755);
  t.notOk(await whole(none()), 'as everybody can read it');
  t.notOk(await whole(install({ shared })));
});

t.test('stubs run nothing that others may change, or that the owner cannot read', async t => {
  const { server, at, hook, install, repository } = await open(t);
  const shared = await writeShared(server.path('lib/hooks'));
  // The directory of the test is closed to others than its maker.
  await chmod(server.root, 0o755);
  const cases: readonly [string, () => Promise<unknown>, RegExp][] = [
    [
      'the file',
      () => chmod(join(shared, 'pre-receive'), 0o775),
      /hooks\/pre-receive may be changed by others/,
    ],
    ['its directory', () => chmod(shared, 0o757), /lib\/hooks may be changed by others/],
    ['one above', () => chmod(server.path('lib'), 0o777), /lib may be changed by others/],
    ['no path for a stub', () => mkdir(server.path("it's")), /a character that a stub cannot name/],
    ['not there', () => mkdir(server.path('empty')), /does not exist/],
  ];
  for (const [name, change, why] of cases) {
    await change();
    const place =
      name === 'not there' ? server.path('empty') : name.startsWith('no') ? server.path("it's") : shared;
    t.match(await install({ shared: place }), { wholeBecause: why }, name);
    t.equal(await hook(), await whole('pre-receive'), name);
    for (const path of [shared, server.path('lib'), join(shared, 'pre-receive')]) await chmod(path, 0o755);
  }
  await symlink(shared, server.path('link'));
  t.match(await install({ shared: server.path('link') }), { wholeBecause: /leads to/ });
  t.match(await install({ shared }), { wholeBecause: null }, 'as it was');

  if (process.getuid?.() !== 0) return;
  for (const path of [repository, at('hooks'), at('config')]) await chown(path, 4242, 4242);
  t.match(await install({ shared }), { wholeBecause: null }, 'of root, readable for all');
  await chmod(server.path('lib'), 0o700);
  t.match(await install({ shared }), { wholeBecause: /lib cannot be read by the owner/ });
  await chmod(server.path('lib'), 0o755);
  await chown(shared, 4243, 4243);
  t.match(await install({ shared }), { wholeBecause: /may be changed by others/ }, 'of a third user');
});

for (const shell of ['dash', 'bash', 'busybox'] as const) {
  t.test(`a shared file of which only the part for refused pushes is cut, with ${shell}`, async t => {
    const { server, at, gate, install, push } = await open(t);
    const shared = await writeShared(server.path('lib/hooks'));
    await install({ shared });
    const shebang = shell === 'busybox' ? '#!/bin/busybox sh' : `#!/bin/${shell}`;
    const stubText = await readFile(at('hooks/pre-receive'), 'utf8');
    await writeFile(at('hooks/pre-receive'), stubText.replace('#!/bin/sh', shebang));
    const content = await whole('pre-receive');
    for (const [what, end] of [
      ['cut within a function', content.indexOf('\njudge_push()') + 40],
      ['cut before its last line', content.lastIndexOf('judge_or_refuse "$@"')],
    ] as const) {
      await writeFile(join(shared, 'pre-receive'), content.slice(0, end));
      gate.answer = allowed;
      const passed = await push();
      t.equal(passed.code, 0, `${what}: what is allowed passes`);
      t.notMatch(passed.stderr, /cannot be run/);
      gate.answer = refused('Quota exceeded: alice uses all.\n', 'any');
      const stopped = await push();
      t.equal(stopped.code, 1, `${what}: what is refused stays refused`);
      t.match(stopped.stderr, /remote: Quota exceeded: alice uses all\./);
    }
  });

  t.test(`a shared file of which all but the first part is cut, with ${shell}`, async t => {
    const { server, at, gate, install, push } = await open(t);
    const shared = await writeShared(server.path('lib/hooks'));
    await install({ shared });
    const log = server.path('log');
    await server.file(at('hooks/pre-receive.d/50-previous'), `#!/bin/sh\ncat >>${log}\n`);
    const shebang = shell === 'busybox' ? '#!/bin/busybox sh' : `#!/bin/${shell}`;
    const stubText = await readFile(at('hooks/pre-receive'), 'utf8');
    await writeFile(at('hooks/pre-receive'), stubText.replace('#!/bin/sh', shebang));
    const content = await whole('pre-receive');
    const early = /remote: softquota: the file of this hook ends too early\./;
    for (const [what, end] of [
      ['cut within a function', content.indexOf('\nprintable()') + 40],
      ['cut before its last line', content.lastIndexOf('go_on "$@"')],
    ] as const) {
      await writeFile(join(shared, 'pre-receive'), content.slice(0, end));
      gate.answer = allowed;
      const passed = await push();
      t.equal(passed.code, 0, `${what}: what is allowed passes`);
      t.notMatch(passed.stderr, /ends too early/);
      await rm(log);
      gate.answer = warned('Nearly full.\n');
      const warning = await push();
      t.equal(warning.code, 0, `${what}: what is allowed with a word passes`);
      t.match(warning.stderr, early);
      t.match(await readFile(log, 'utf8'), /^\S+ \S+ refs\/heads\/main\n$/, 'the hooks after it run, once');
      await rm(log);
      gate.answer = refused('Quota exceeded: alice uses all.\n');
      const stopped = await push();
      t.equal(stopped.code, 1, `${what}: what is refused stays refused`);
      t.match(stopped.stderr, early);
      gate.answer = plain(503);
      t.equal((await push()).code, 0, `${what}: what nobody checked passes`);
      await server.git(['config', '--file', at('config'), 'softquota.onError', 'deny']);
      t.equal((await push()).code, 1, `${what}: but not where onError = deny`);
      await server.git(['config', '--file', at('config'), '--unset', 'softquota.onError']);
      await rm(log);
    }
  });

  t.test(`a shared file that is gone, or half there, blocks no push, with ${shell}`, async t => {
    const { server, repository, at, install, push } = await open(t);
    const shared = await writeShared(server.path('lib/hooks'));
    await install({ shared });
    const log = server.path('log');
    await server.file(at('hooks/pre-receive.d/50-previous'), `#!/bin/sh\ncat >>${log}\n`);
    const shebang = shell === 'busybox' ? '#!/bin/busybox sh' : `#!/bin/${shell}`;
    const stubText = (await readFile(at('hooks/pre-receive'), 'utf8')).replace('#!/bin/sh', shebang);
    await writeFile(at('hooks/pre-receive'), stubText);
    const content = await whole('pre-receive');
    const half = content.slice(0, content.indexOf('\nmay_grow()') + 40);
    const lines = content.slice(0, content.lastIndexOf('main "$@"'));
    for (const [what, text] of [
      ['gone', null],
      ['empty', ''],
      ['cut within a function', half],
      ['cut before its last line', lines],
    ] as const) {
      if (text === null) await rm(join(shared, 'pre-receive'));
      else await writeFile(join(shared, 'pre-receive'), text);
      const pushed = await push();
      t.equal(pushed.code, 0, what);
      t.match(
        pushed.stderr,
        /cannot be run, so the quota was not checked\. Please tell the administrator\./,
        what,
      );
      t.match(
        await readFile(log, 'utf8'),
        /^\S+ \S+ refs\/heads\/main\n$/,
        `${what}: the hooks after it run`,
      );
      await rm(log);
    }
    await server.file(at('hooks/pre-receive.d/60'), '#!/bin/sh\nexit 7\n');
    t.equal((await push()).code, 1, 'another hook still refuses');
    await rm(at('hooks/pre-receive.d/60'));
    const gogs = join(server.path('custom_hooks'), 'pre-receive');
    await server.file(gogs, stubText);
    await server.file(
      `${gogs}.d/50-previous`,
      '#!/bin/sh\nread -r said && [ "$said" = "a b c" ] && exit 7\n',
    );
    const asGogs = await run(gogs, [], { cwd: repository, input: 'a b c\n' });
    t.equal(asGogs.code, 7, 'where Gogs runs it, the hook of its administrator runs');
    await install({ shared, onError: 'deny' });
    await rm(join(shared, 'pre-receive'));
    const denied = await push();
    t.equal(denied.code, 1, 'onError = deny refuses what nobody checked');
    t.match(denied.stderr, /cannot be run/);
    for (const line of ['onError = deny', 'onError = "deny"', 'onerror = deny # ours', 'OnError=deny;ours']) {
      await writeFile(at('config'), `[core]\n\tbare = true\n[softquota]\n\t${line}`);
      t.equal((await push()).code, 1, line);
    }
  });
}
