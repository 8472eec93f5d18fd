/** Where the hooks take their settings from. */

import { chmod, mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { assembledHook, assembledHooks } from '../../scripts/hooks/assemble.ts';
import { Gate, plain, refused } from './gate.ts';
import { byEachClient, hooksDirectory, World } from './world.ts';

const tell = 'Please tell the administrator.';

async function pushed(world: World, env: Readonly<Record<string, string>> = {}) {
  await world.commit(`${Math.random()}`);
  const { code, stderr, elapsedMs } = await world.push(['HEAD:main'], env);
  return { code, said: World.said({ code, stderr, stdout: '', elapsedMs }) };
}

/** A second gate that refuses everything, for a world whose own allows. */
async function refusing(t: Test, world: World): Promise<Gate> {
  const gate = await Gate.open(join(world.folder, 'other.sock'));
  t.teardown(() => gate.close());
  gate.answer = refused('the other gate\n');
  return gate;
}

t.test('hook.conf stands in for the configuration of all repositories', async t => {
  const world = await World.open(t);
  const other = await refusing(t, world);
  await writeFile(
    world.hookConf,
    `# comment\n\n  socket = ${other.socket}\nonError=deny\n timeout = 1.5\nlastFor = 3d`,
  );
  t.same(await pushed(world), { code: 1, said: 'the other gate' });
  other.answer = plain(500);
  t.match(await pushed(world), { code: 1, said: /was 500\), so this push is refused/ });
  t.equal(world.gate.questions.length, 0);
});

t.test('a hook.conf that others can write, or that is not root’s, is not believed', async t => {
  const world = await World.open(t);
  const other = await refusing(t, world);
  const fault = `softquota: error in the hook's settings: ${world.hookConf} is not a file that everybody can read and only root can write. ${tell}`;
  await writeFile(world.hookConf, `socket=${other.socket}\n`);
  for (const mode of [0o664, 0o646]) {
    await chmod(world.hookConf, mode);
    t.same(await pushed(world), { code: 0, said: fault });
  }
  await chmod(world.hookConf, 0o644);
  await world.put('pre-receive', join(world.bare, 'hooks/pre-receive'), text =>
    text.replace(/-user \d+ /, `-user ${(process.getuid?.() ?? 0) + 1} `),
  );
  t.same(await pushed(world), { code: 0, said: fault });
  await rm(world.hookConf);
  await mkdir(world.hookConf);
  t.same(await pushed(world), { code: 0, said: fault });
});

t.test('a link to a hook.conf counts as the file it leads to', async t => {
  const world = await World.open(t);
  const other = await refusing(t, world);
  await writeFile(join(world.folder, 'real.conf'), `socket=${other.socket}\n`);
  await symlink(join(world.folder, 'real.conf'), world.hookConf);
  t.equal((await pushed(world)).said, 'the other gate');
});

for (const [lines, fault] of [
  ['onError=dney', 'onError is not allow, deny or last'],
  ['onError=Last', 'onError is not allow, deny or last'],
  ['lastFor=24', 'lastFor is not a number of hours or days such as 24h'],
  ['lastFor=0h', 'lastFor is not a number of hours or days such as 24h'],
  ['lastFor=90m', 'lastFor is not a number of hours or days such as 24h'],
  ['lastFor=1000d', 'lastFor is not a number of hours or days such as 24h'],
  ['lastFor=', 'lastFor is not a number of hours or days such as 24h'],
  ['timeout=0', 'timeout is not a number of seconds from 0.1 to 60'],
  ['timeout=0.0001', 'timeout is not a number of seconds from 0.1 to 60'],
  ['timeout=61', 'timeout is not a number of seconds from 0.1 to 60'],
  ['timeout=60.5', 'timeout is not a number of seconds from 0.1 to 60'],
  ['timeout=2s', 'timeout is not a number of seconds from 0.1 to 60'],
  ['timeout=', 'timeout is not a number of seconds from 0.1 to 60'],
  ['judgeTimeout=soon', 'judgeTimeout is not a number of seconds from 0.1 to 60'],
  ['client=wget', 'client is not curl, nc or socat'],
  ['client=', 'client is not curl, nc or socat'],
  ['timeout=-1', 'timeout is not a number of seconds from 0.1 to 60'],
  [
    'colour=blue',
    'a line does not begin with socket=, onError=, lastFor=, timeout=, judgeTimeout= or client=',
  ],
  ['nonsense', 'a line does not begin with socket=, onError=, lastFor=, timeout=, judgeTimeout= or client='],
] as const) {
  t.test(`a line ${lines} in hook.conf is told in one line, and its default stands`, async t => {
    const world = await World.open(t);
    await writeFile(world.hookConf, `socket=${world.gate.socket}\n${lines}\n`);
    const line = `softquota: error in the hook's settings: ${fault}. ${tell}`;
    t.same(await pushed(world), { code: 0, said: line });
    t.equal(world.gate.checks.length, 1, 'the gate is asked all the same');
    world.gate.answer = plain(500);
    t.match(
      (await pushed(world)).said,
      /was 500\), and no earlier list of refused owners exists, so this push is allowed\.$/,
    );
  });
}

t.test('a repository’s own settings are those of its config file alone', async t => {
  const world = await World.open(t);
  await world.configure('softquota.onError', 'maybe');
  t.match(await pushed(world), { code: 0, said: /onError is not allow, deny or last/ });
  await world.configure('softquota.onError', 'deny');
  await world.configure('softquota.timeout', '0.3');
  world.gate.answer = () => {};
  t.match(await pushed(world), { code: 1, said: /no answer within 0\.3 s/ });
  await world.configure('softquota.socket', 'gate.sock');
  t.match((await pushed(world)).said, /socket is not an absolute path/);
  await writeFile(join(world.folder, 'included'), '[softquota]\n\tonError = allow\n');
  await world.configure('include.path', join(world.folder, 'included'));
  t.match(await pushed(world), { code: 1 }, 'an include is not followed');
});

t.test(
  'the record names gitolite’s user, over ssh else the account, whatever the client sends, else the web server’s user',
  async t => {
    const world = await World.open(t);
    world.gate.answer = refused('no\n');
    const actors: (string | null | undefined)[] = [];
    for (const env of [
      {
        SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22',
        LOGNAME: 'carol',
        REMOTE_USER: 'forged',
        GL_USER: 'forged',
      },
      { SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22', LOGNAME: 'git', GL_REPO: 'a/b', GL_USER: 'frank' },
      { GL_REPO: 'a/b', GL_USER: 'a\nb', LOGNAME: 'git' },
      { GL_REPO: 'a/b', LOGNAME: 'git' },
      { REMOTE_USER: 'DOMAIN\\dave', LOGNAME: 'www-data' },
      { LOGNAME: 'erin' },
      { LOGNAME: 'x'.repeat(256) },
      {},
    ]) {
      await pushed(world, env);
      actors.push(world.gate.checks.at(-1)?.parameters.get('actor'));
    }
    t.same(actors, ['carol', 'frank', null, 'git', 'DOMAIN\\dave', 'erin', null, null]);
  },
);

t.test('the record names whom the forge says, beside the repository that it says', async t => {
  const world = await World.open(t);
  world.gate.answer = refused('no\n');
  const ssh = { SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22', LOGNAME: 'git' };
  for (const [repository, user] of [
    ['GL_REPO', 'GL_USER'],
    ['GITEA_REPO_NAME', 'GITEA_PUSHER_NAME'],
    ['GOGS_REPO_NAME', 'GOGS_AUTH_USER_NAME'],
    ['GL_REPOSITORY', 'GL_USERNAME'],
    ['SOFT_SERVE_REPO_NAME', 'SOFT_SERVE_USERNAME'],
  ] as const) {
    const actorWith = async (env: Readonly<Record<string, string>>) => {
      await pushed(world, { ...ssh, ...env });
      return world.gate.checks.at(-1)?.parameters.get('actor');
    };
    t.equal(await actorWith({ [repository]: 'app', [user]: 'alice' }), 'alice', user);
    t.equal(await actorWith({ [repository]: 'app', [user]: '' }), 'git', `${user} is empty`);
    t.equal(await actorWith({ [user]: 'forged' }), 'git', `${user} without ${repository}`);
  }
});

byEachClient('a repository is asked for by its physical path, whatever bytes that has', async (t, client) => {
  const world = await World.open(t, { client, bare: 'al ice&owner=bob/ü%41+#?"\u2028.git' });
  await symlink(join(world.folder, 'al ice&owner=bob'), join(world.folder, 'link'));
  const linked = world.bare.replace('al ice&owner=bob', 'link');
  await world.git('remote', 'set-url', 'origin', linked);
  await pushed(world);
  const [check] = world.gate.checks;
  t.same([...(check?.parameters ?? [])], [['path', world.bare]]);
  await world.gate.heard(1);
  t.same([...(world.gate.changes[0]?.parameters ?? [])], [['path', world.bare]]);

  const env = { PWD: linked, GIT_QUARANTINE_PATH: '/nonexistent' };
  await world.must(join(world.bare, 'hooks/pre-receive'), [], { cwd: linked, env });
  t.same([...(world.gate.checks[1]?.parameters ?? [])], [['path', world.bare]]);

  const odd = Buffer.concat([
    Buffer.from(`${world.folder}/odd`),
    Buffer.from([0xff, 0x80]),
    Buffer.from('.git'),
  ]);
  await mkdir(odd);
  await writeFile(world.hookConf, `socket=${world.gate.socket}\nclient=${client}\n`);
  const script = `cd "$1"/odd*.git && GIT_QUARANTINE_PATH=/nonexistent exec "$2" </dev/null`;
  await world.must('sh', ['-c', script, 'sh', world.folder, join(world.bare, 'hooks/pre-receive')], {
    env: { LC_ALL: 'C' },
  });
  t.match(world.gate.checks[2]?.raw, /odd%FF%80\.git/i);
});

t.test(
  'without a quarantine every push that does more than delete is asked for, as git before 2.11 has none',
  async t => {
    const world = await World.open(t);
    world.gate.answer = refused('over quota\n');
    const [id, zeros] = ['1'.repeat(40), '0'.repeat(40)];
    const hook = (input: string) =>
      world.run(join(world.bare, 'hooks/pre-receive'), [], { cwd: world.bare, input });
    t.equal((await hook(`${id} ${zeros} refs/heads/a\n`)).code, 0);
    t.equal((await hook(`${id} ${zeros} refs/heads/a\n${zeros} ${id} refs/heads/b\n`)).code, 1);
    t.equal((await hook(`${id} ${id} refs/heads/a\n`)).code, 1);
    t.equal((await hook('')).code, 0);
  },
);

t.test('each hook is what its fragments make', async t => {
  for (const name of assembledHooks) {
    const file = new URL(name, hooksDirectory);
    t.equal(await readFile(file, 'utf8'), assembledHook(name));
    t.equal((await stat(file)).mode & 0o777, 0o755);
  }
});
