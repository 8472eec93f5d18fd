/**
 * Hostile paths: nothing of a pusher's runs, and nothing outside of the own repository is read or changed.
 */

import { mkdir, realpath, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Clone } from './clone.ts';
import { quarantinesIn } from './left-behind.ts';
import { must, run } from './run.ts';
import { Server } from './server.ts';

t.setTimeout(240_000);

const [none, some] = ['0', '1'].map(digit => digit.repeat(40));
const creation = `${none} ${some} refs/heads/new\n`;

/** A push as a hook tells of it, with fields that no hook would send. */
function pushBody(fields: readonly (string | Buffer)[]): Buffer {
  const parts = [...fields, ''].flatMap(field => [Buffer.from(field), Buffer.from([0])]);
  return Buffer.concat([...parts, Buffer.from(creation)]);
}

/** alice is over the limit, bob has a push under way, and both have neighbours that are nobody's business. */
async function open(t: Test) {
  const server = await Server.open(t, { repositories: ['alice/app', 'bob/app'] });
  const [alice, bob] = [server.path('alice/app'), server.path('bob/app')];
  const clone = await Clone.of(server, alice);
  await clone.commit(1_200_000);
  await clone.push();
  await server.usageIs('alice', used => used > 1_200_000);
  const outside = join(server.folder, 'outside');
  const evil = join(server.folder, 'evil');
  for (const folder of [outside, evil]) await mkdir(folder);
  await writeFile(join(outside, 'kept'), Buffer.alloc(5_000_000, 'k'));
  const ran = join(server.folder, 'ran');
  for (const name of ['git', 'rm', 'find', 'cat', 'nc', 'curl', 'timeout', 'date', 'logger', 'sleep', 'head'])
    await writeFile(join(evil, name), `#!/bin/sh\necho ${name} >>${ran}\n`, { mode: 0o755 });
  await writeFile(join(evil, 'rc'), `echo rc >>${ran}\n`);
  await writeFile(join(evil, '.curlrc'), `output = "${ran}"\n`);
  return { server, alice, bob, outside, evil, ran };
}

/** A quarantine with an object in it; its last six characters are given. */
async function quarantine(bare: string, name: string): Promise<string> {
  const path = join(bare, 'objects', `tmp_objdir-incoming-${name}`);
  await mkdir(join(path, '11'), { recursive: true });
  await writeFile(join(path, '11', '1'.repeat(38)), 'an object');
  return path;
}

/** Every file with its sum, but for those below `without`. */
async function filesIn(folders: readonly string[], without: string): Promise<string> {
  const files = ['(', '-path', without, '-prune', ')', '-o', '-type', 'f', '-exec', 'cksum', '{}', '+'];
  return (await must('find', [...folders, ...files])).split('\n').sort().join('\n');
}

t.test('odd paths are answered, and nothing is read or changed by them', async t => {
  const { server, alice, bob, outside, evil } = await open(t);
  await quarantine(alice, 'AAAAAA');
  await symlink(outside, join(alice, 'objects/tmp_objdir-incoming-LLLLLL'));
  await symlink(outside, join(server.folder, 'git/alice/link.git'));
  await symlink('/', join(alice, 'modules'));
  await must('mkfifo', [join(server.folder, 'git/alice/fifo.git')]);
  const directories: readonly (string | Buffer)[] = [
    '',
    '.',
    '..',
    '/',
    '//',
    alice,
    'alice/app.git',
    '/etc/passwd',
    '/proc/self/root',
    '/proc/self/fd/0',
    '/dev/zero',
    '~',
    '-',
    '$(id)',
    '%2e%2e/%2e%2e',
    `${alice}/../../..`,
    `${alice}/../../../outside`,
    `${alice}/modules/etc`,
    join(server.folder, 'git/alice/link.git'),
    join(server.folder, 'git/alice/fifo.git'),
    join(server.folder, 'git/nobody/new.git'),
    `${alice}\n${bob}`,
    Buffer.from([...Buffer.from(`${server.folder}/git/`), 0xff, 0xfe]),
    `/${'x'.repeat(5000)}`,
    `/${'d/'.repeat(2000)}`,
  ];
  const quarantines = [
    'tmp_objdir-incoming-AAAAAA',
    'tmp_objdir-incoming-LLLLLL',
    '../../../../outside',
    '../../../bob/app.git/objects',
  ];
  const places = [join(server.folder, 'git'), outside, evil];
  const before = await filesIn(places, '');
  const used = await server.usage('bob');
  for (const directory of directories) {
    for (const name of quarantines) {
      const field = (key: string, value: string | Buffer) =>
        Buffer.concat([Buffer.from(`${key}=`), Buffer.from(value)]);
      const fields = [
        'hook=pre-receive',
        'script=hooks/pre-receive',
        field('directory', directory),
        field(
          'GIT_QUARANTINE_PATH',
          Buffer.concat([Buffer.from(directory), Buffer.from(`/objects/${name}`)]),
        ),
        `GIT_EXEC_PATH=${evil}`,
      ];
      const startedAt = performance.now();
      const { status, text } = await server.ask('gate', '/v1/push', { body: pushBody(fields) });
      const what = `${JSON.stringify(String(directory).slice(0, 60))} ${name}`;
      t.ok([200, 400, 404, 413].includes(status), `${what}: ${status} ${text}`);
      t.ok(performance.now() - startedAt < 5000, `${what}: soon`);
      t.notMatch(text, /root:|5 MB|kept/, `${what}: nothing of outside is told`);
    }
  }
  t.equal(await filesIn(places, ''), before, 'nothing is changed');
  t.equal(await server.usage('bob'), used, 'nothing of outside counts');
  t.equal((await run('cat', [join(server.folder, 'ran')])).stdout, '', 'nothing of theirs ran');
  t.equal(server.daemon.isRunning, true);
  t.notMatch(server.daemon.log, /internal error/);
});

/** Refused and left in an empty quarantine, or in none. */
async function isRefused(t: Test, bare: string, clone: Clone): Promise<void> {
  await clone.commit(100);
  const { code, said } = await clone.push();
  t.equal(code, 1);
  t.match(said, /^Quota exceeded: alice/);
  t.strictSame(await quarantinesIn(bare), []);
}

t.test('a server whose root is a link refuses as any other', async t => {
  const server = await Server.open(t, { started: false });
  const [root, disk] = [join(server.folder, 'git'), join(server.folder, 'disk')];
  await rename(root, disk);
  await symlink(disk, root);
  const bare = await server.repository('alice/app');
  await server.installHooks();
  await server.start();
  const clone = await server.filled('alice/app', 1_200_000);
  await isRefused(t, bare, clone);
  await clone.git('remote', 'set-url', 'origin', await realpath(bare));
  await isRefused(t, bare, clone);
});

t.test('a repository that is mounted at another path as well is refused there as anywhere', async t => {
  const server = await Server.open(t, { repositories: ['alice/app'] });
  const bare = server.path('alice/app');
  const place = join(server.folder, 'mounted.git');
  await mkdir(place);
  await must('mount', ['--bind', bare, place]);
  t.teardown(() => must('umount', [place]));
  const clone = await server.filled('alice/app', 1_200_000);
  await isRefused(t, bare, clone);
  await clone.git('remote', 'set-url', 'origin', place);
  await isRefused(t, bare, clone);
});
