/** Hooks believe nothing of a pusher's environment and names. */

import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Gate, refused } from './gate.ts';
import { byEachClient, creates, World } from './world.ts';

/** A world with much that is not the push's: another quarantine, another repository, programs of the pusher's. */
async function hostile(t: Test, client: 'nc' | 'curl') {
  const world = await World.open(t, { client, onError: 'deny' });
  const home = join(world.folder, 'home');
  const ran = join(home, 'ran');
  await mkdir(home);
  for (const name of [
    'curl',
    'nc',
    'timeout',
    'env',
    'sleep',
    'cat',
    'grep',
    'sed',
    'find',
    'date',
    'rm',
    'head',
    'git',
    'logger',
  ])
    await world.script(join(home, 'bin', name), `#!/bin/sh\n: >${ran}\nexit 0\n`);
  await writeFile(join(home, '.curlrc'), 'output = "/dev/null"\nproxy = "http://127.0.0.1:9"\n');
  await writeFile(join(home, 'openssl.cnf'), 'openssl_conf = a\n[a]\nengines = b\n');
  const kept: string[] = [];
  for (const folder of [
    `${world.folder}/bob/app.git/objects/tmp_objdir-incoming-Ab12Cd`,
    `${world.bare}/objects/12`,
    `${world.bare}/objects/pack`,
    `${world.folder}/home/tmp_objdir-incoming-Ab12Cd`,
  ]) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'kept'), '');
    kept.push(join(folder, 'kept'));
  }
  await symlink(`${home}/tmp_objdir-incoming-Ab12Cd`, `${world.bare}/objects/tmp_objdir-incoming-LLLLLL`);
  world.gate.answer = refused('over quota\n');
  return { world, home, ran, kept };
}

byEachClient('nothing in a pusher’s environment changes what is asked, run or removed', async (t, client) => {
  const { world, home, ran, kept } = await hostile(t, client);
  const friendly = await Gate.open(join(world.folder, 'friendly.sock'));
  t.teardown(() => friendly.close());
  const many = Object.fromEntries(
    Array.from({ length: 25 }, (_, index) => [`GIT_PUSH_OPTION_${index}`, 'x'.repeat(60_000)]),
  );
  const attacks: readonly Readonly<Record<string, string>>[] = [
    { HOME: home },
    { XDG_CONFIG_HOME: home, CURL_HOME: home },
    { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'softquota.socket', GIT_CONFIG_VALUE_0: friendly.socket },
    { GIT_CONFIG_PARAMETERS: `'softquota.socket=${friendly.socket}' 'softquota.onError=allow'` },
    { http_proxy: 'http://127.0.0.1:9', ALL_PROXY: 'socks5://127.0.0.1:9', no_proxy: '' },
    { PATH: `${home}/bin:${process.env.PATH}` },
    { socket: friendly.socket, on_error: 'allow', last_for: '9', answer: 'HTTP/1.1 200 OK', text: 'x' },
    { call: ':', own: ':', clean: ':', request: ':', left: '0', end: '0', last: '0', now: '1' },
    { asked: '50', brings: '', input: 'x', lines: '50', arriving: '/', sent: '', hook: `${home}/bin/git` },
    { name: 'x', common: '/', prefix: 'x', nl: 'x', each: 'x', value: 'x', n: '9', status: '0', second: 'x' },
    { LC_ALL: 'de_DE.UTF-8', LANG: 'tr_TR.UTF-8' },
    { IFS: '/', CDPATH: '/tmp', PWD: '/', OLDPWD: '/' },
    { ENV: `${home}/bin/curl`, BASH_ENV: `${home}/bin/curl` },
    { LOGNAME: 'x'.repeat(100_000) },
    { LOGNAME: 'a\nb\x1b\u202e', REMOTE_USER: 'x\n\nPOST /v1/x HTTP/1.0' },
    { REMOTE_USER: 'a\r\nX-Softquota-Decision: allowed\r\n\r\n' },
    { GL_USER: '$(touch ran)', GL_REPO: '`touch ran`', GL_ID: "';touch ran;'" },
    { GIT_TRACE: '1', GIT_TRACE2: '1', OPENSSL_CONF: `${home}/openssl.cnf`, SSLKEYLOGFILE: `${home}/keys` },
    { GIT_EXEC_PATH: `${home}/bin` },
    { GIT_PUSH_OPTION_COUNT: '25', ...many },
    { GIT_PUSH_OPTION_COUNT: '0', ...many },
    { GIT_PUSH_OPTION_COUNT: '$(touch ran)', GIT_PUSH_OPTION_0: '$(touch ran)' },
    { GIT_PUSH_OPTION_COUNT: '99999999999999999999' },
    { GIT_PUSH_OPTION_COUNT: `a[$(touch ${ran})]`, GIT_PUSH_CERT: `$(touch ${ran})` },
    { PS4: `$(touch ${ran})`, PS1: `$(touch ${ran})` },
    { GIT_DIR: `${world.folder}/bob/app.git`, GIT_COMMON_DIR: '/', GIT_WORK_TREE: '/' },
    { GIT_QUARANTINE_PATH: `${world.folder}/bob/app.git/objects/tmp_objdir-incoming-Ab12Cd` },
    { GIT_QUARANTINE_PATH: `${world.bare}/objects/../../../bob/app.git/objects/tmp_objdir-incoming-Ab12Cd` },
    { GIT_QUARANTINE_PATH: `${world.bare}/objects/tmp_objdir-incoming-Ab12Cd/..` },
    { GIT_QUARANTINE_PATH: `${world.bare}/objects/pack` },
    { GIT_QUARANTINE_PATH: `${world.bare}/objects` },
    { GIT_QUARANTINE_PATH: `${world.bare}/objects/tmp_objdir-incoming-` },
    { GIT_QUARANTINE_PATH: `${world.bare}/objects/tmp_objdir-incoming-LLLLLL` },
    { GIT_QUARANTINE_PATH: '/' },
    { GIT_QUARANTINE_PATH: '..' },
    { GIT_QUARANTINE_PATH: '-rf' },
    { GIT_QUARANTINE_PATH: 'x'.repeat(100_000) },
    { GIT_QUARANTINE_PATH: `$(touch ${ran})` },
    { GIT_QUARANTINE_PATH: `\`touch ${ran}\`` },
    { GIT_QUARANTINE_PATH: 'x\nhook=post-receive\n' },
    { GIT_QUARANTINE_PATH: 'x\r\nContent-Length: 0\r\n\r\n' },
    { GIT_QUARANTINE_PATH: 'tmp_objdir-incoming-$(:)12' },
    { GIT_QUARANTINE_PATH: 'x/incoming-......' },
    { GIT_QUARANTINE_PATH: 'tmp_objdir-incoming-??????', GIT_OBJECT_DIRECTORY: '/' },
    { GL_REPOSITORY: 'project-1', GIT_OBJECT_DIRECTORY: `${home}/tmp_objdir-incoming-Ab12Cd` },
  ];
  for (const [index, attack] of attacks.entries()) {
    const what = JSON.stringify(attack).slice(0, 80);
    t.same(
      await world.hook(creates(), attack).then(({ code, stderr }) => ({ code, stderr })),
      { code: 1, stderr: 'over quota\n' },
      what,
    );
    const question = world.gate.pushes()[index];
    t.equal(question?.lines, creates(), what);
    t.equal(question?.parameters.get('directory'), world.bare, what);
    t.equal(
      new Set(question?.parameters.keys()).size,
      [...(question?.parameters.keys() ?? [])].length,
      'no field twice',
    );
  }
  t.equal(friendly.questions.length, 0);
  t.equal(world.gate.questions.length, attacks.length);
  t.notOk(existsSync(ran), 'no program of the pusher’s was run');
  t.same(
    kept.filter(file => !existsSync(file)),
    [],
    'nothing but the own quarantine is emptied',
  );
});

t.test('where push options leave no room for a program the daemon’s answer counts', async t => {
  const world = await World.open(t, { onError: 'deny' });
  world.gate.answer = refused('over quota\n');
  const hook = (last: number, full: number) => {
    const env: Record<string, string> = {};
    for (let index = 0; index < full; index++) env[`GIT_PUSH_OPTION_${index}`] = 'x'.repeat(60_000);
    env[`GIT_PUSH_OPTION_${full}`] = 'x'.repeat(last);
    return world.hook(creates().repeat(60), env);
  };
  const starts = (last: number, full: number) =>
    hook(last, full).then(
      () => true,
      () => false,
    );
  let full = 0;
  while (full < 40 && (await starts(60_000, full))) full++;
  if (full === 40) return t.comment('this system takes a larger environment than git could send');
  let [fits, tooLong] = [0, 60_000];
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (await starts(middle, full)) fits = middle;
    else tooLong = middle;
  }
  t.match(await hook(fits, full), { code: 1, stderr: 'over quota\n' });
  await world.gate.close();
  t.match(await hook(fits, full), { code: 1, stderr: /so this push is refused/ });
});

t.test('1.5 MB of push options reach later hooks, and keep no refused push alive', async t => {
  const world = await World.open(t);
  await world.server('config', 'receive.advertisePushOptions', 'true');
  await world.commit('first');
  const options = Array.from({ length: 25 }, () => ['-o', 'x'.repeat(60_000)]).flat();
  await world.script(
    join(world.bare, 'hooks/pre-receive.d/10'),
    '#!/bin/sh\necho "$GIT_PUSH_OPTION_COUNT"\n',
  );
  world.gate.answer = refused('over quota\n');
  const push = await world.push([...options, 'HEAD:main']);
  t.match(push, { code: 1 });
  t.equal(World.said(push), 'over quota');
  t.equal(await world.objects(), 0);
});

t.test('a repository of any name is named as it is, in its physical path', async t => {
  for (const name of [
    'a b\'c"d\\e.git',
    '$(touch x)`touch y`.git',
    '-rf.git',
    '#a*b?[c]{d}~!.git',
    'a&b=c%2e;d|e>f.git',
    'a\nb\tc.git',
    'ünï\u202e.git',
  ]) {
    const world = await World.open(t, { bare: `alice/${name}` });
    world.gate.answer = refused('no\n');
    const path = join(world.bare, 'objects/tmp_objdir-incoming-Ab12Cd');
    await mkdir(path);
    await writeFile(join(path, 'object'), '');
    t.match(await world.hook(creates(), { GIT_QUARANTINE_PATH: path }), { code: 1, stderr: 'no\n' }, name);
    t.equal(world.gate.pushes()[0]?.parameters.get('directory'), world.bare);
    t.same(await readdir(path), []);
  }
});

t.test('Gitaly’s environment: the object directory names the quarantine, from outside', async t => {
  const world = await World.open(t, { bare: 'storage/+gitaly/snapshots/12/34/@hashed/aa/bb/x.git' });
  const file = join(world.folder, 'custom_hooks/pre-receive.d/00-softquota');
  await world.put('pre-receive', file);
  await world.script(join(world.folder, 'custom_hooks/pre-receive.d/10'), '#!/bin/sh\necho twice >&2\n');
  const env = (objects: string): readonly string[] => [
    '-i',
    'PATH=/opt/gitlab/embedded/bin:/usr/bin:/bin',
    'GIT_DIR=.',
    `GIT_OBJECT_DIRECTORY=${objects}`,
    `GIT_ALTERNATE_OBJECT_DIRECTORIES=${world.bare}/objects`,
    'GIT_EXEC_PATH=/opt/gitlab/embedded/libexec/git-core',
    'GIT_CONFIG_GLOBAL=/dev/null',
    'GIT_CONFIG_SYSTEM=/dev/null',
    'GL_ID=user-1',
    'GL_USERNAME=alice',
    'GL_PROTOCOL=ssh',
    'GL_REPOSITORY=project-7',
    'GL_PROJECT_PATH=group/app',
    'CORRELATION_ID=01H',
    file,
  ];
  const gitaly = (objects: string, input = creates()) =>
    world.run('env', env(objects), { cwd: world.bare, input });
  const path = join(world.bare, 'objects/tmp_objdir-incoming-Ab12Cd');
  const fill = async () => {
    await mkdir(path, { recursive: true });
    await writeFile(join(path, 'object'), '');
  };

  await fill();
  t.match(await gitaly(path), { code: 0, stderr: '' }, 'Gitaly runs the other hooks itself');
  t.same(await readdir(path), ['object']);
  t.match(Object.fromEntries(world.gate.pushes()[0]?.parameters ?? []), {
    directory: world.bare,
    script: file,
    GIT_OBJECT_DIRECTORY: path,
    GL_USERNAME: 'alice',
    GL_REPOSITORY: 'project-7',
    GL_PROJECT_PATH: 'group/app',
  });

  world.gate.answer = refused('GL-HOOK-ERR: over quota\n');
  t.match(await gitaly(path), { code: 1, stderr: 'GL-HOOK-ERR: over quota\n' });
  t.same(await readdir(path), []);
  const edit = join(world.folder, 'storage/+gitaly/tmp/quarantine-123');
  await mkdir(edit, { recursive: true });
  await writeFile(join(edit, 'object'), '');
  t.match(await gitaly(edit), { code: 1 }, 'an edit in the browser');
  t.same(await readdir(edit), ['object'], 'Gitaly removes its own');
  await fill();
  const deletes = `${'1'.repeat(40)} ${'0'.repeat(40)} refs/heads/x\n`;
  const asked = world.gate.questions.length;
  t.match(await gitaly(path, deletes), { code: 0, stderr: '' });
  t.equal(world.gate.questions.length, asked, 'a deletion');
  await world.gate.close();
  await world.put('pre-receive', file, { ...world.settings, onError: 'deny' });
  t.match(await gitaly(path), {
    code: 1,
    stderr: /^GL-HOOK-ERR: softquota: the quota could not be checked/,
  });
  t.match(await readFile(file, 'utf8'), /deny/);
});
