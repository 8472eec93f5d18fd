/**
 * LFS over ssh: git-lfs, sshd and git-lfs-transfer, all real, with hooks/receive-pack/git-lfs-transfer
 * before the real one, as docs/receive-pack.md has it configured.
 */

import { mkdir, readdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { builtForge } from '../forge/real-forge.ts';
import { some } from '../run-length.ts';
import { until } from './ask.ts';
import { Clone } from './clone.ts';
import { run } from './run.ts';
import { type Ini, Server } from './server.ts';
import { keyPair, startSshd } from './transports.ts';

t.setTimeout(900_000);

const real = await builtForge('git-lfs-transfer');

interface Options {
  /** The login shell of the account. */
  readonly shell?: string;
  readonly ini?: Ini;
}

/** An sshd as in the manual. */
async function open(t: Test, { shell = 'git-shell', ini = {} }: Options = {}) {
  const server = await Server.open(t, { repositories: ['alice/app'], ini });
  await server.done(['hooks', 'install', '--programs', server.folder]);
  const programs = join(server.folder, 'receive-pack');
  const home = join(server.folder, 'ssh');
  const bin = join(server.folder, 'bin');
  await mkdir(join(home, 'git-shell-commands'), { recursive: true });
  await mkdir(bin);
  await symlink(join(real, 'program'), join(bin, 'git-lfs-transfer'));
  await symlink(join(programs, 'git-lfs-transfer'), join(home, 'git-shell-commands/git-lfs-transfer'));
  const key = await keyPair(home, 'user');
  const path = `${shell === 'git-shell' ? '' : `${programs}:`}${bin}:/usr/local/bin:/usr/bin:/bin`;
  const { url, envOf } = await startSshd(t, home, [
    `AuthorizedKeysFile ${key}.pub`,
    `SetEnv HOME=${home} PATH=${path} GIT_EXEC_PATH=${programs}`,
    `ForceCommand ${shell} -c "$SSH_ORIGINAL_COMMAND"`,
  ]);
  const cloneOf = async (name: string) => {
    const env = { ...envOf(key), HOME: server.folder };
    const clone = await Clone.of(server, url(server.path(name)), { env });
    await clone.git('lfs', 'install', '--local');
    await clone.git('lfs', 'track', '*.bin');
    await clone.git('add', '.gitattributes');
    return clone;
  };
  return { server, cloneOf, programs, bin };
}

/** The LFS objects of a repository: their names and bytes. */
async function stored(server: Server, name: string) {
  const folder = join(server.path(name), 'lfs/objects');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter(entry => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const sizes = await Promise.all(files.map(async file => (await stat(file)).size));
  return { files: files.sort(), bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

const lfsBytes = async (server: Server, owner: string) =>
  (await server.usageByLeaf(owner))['size:git:lfs'] ?? 0;

for (const shell of some(['git-shell', 'sh'], 1)) {
  t.test(`by ${shell}: allowed and counted, then refused before a byte, with the reason`, async t => {
    const { server, cloneOf } = await open(t, { shell });
    const clone = await cloneOf('alice/app');
    await clone.commit({ 'a.bin': 900_000 });
    const first = await clone.push();
    t.equal(first.code, 0, first.stderr);
    await server.usageIs('alice', bytes => bytes > 900_000);
    t.equal(await lfsBytes(server, 'alice'), 900_000);
    await clone.commit({ 'plain.txt': 200_000 });
    t.match(await clone.push(), { code: 0 });
    await server.usageIs('alice', bytes => bytes > 1_000_000);
    const before = await stored(server, 'alice/app');

    await clone.commit({ 'b.bin': 400_000, 'c.bin': 5 });
    const { code, stderr } = await clone.push();
    t.not(code, 0);
    t.match(stderr, /^LFS: .*Quota exceeded: alice uses 1\.1\d* MB of 1 MB \(11\d %\)\.$/m);
    t.match(stderr, /^Nothing from this upload was stored\. You can still delete data/m);
    t.match(stderr, 'https://git.example/quota');
    t.strictSame(await stored(server, 'alice/app'), before, 'nothing came');
    const recorded = async () => JSON.stringify(await server.json('events --kind refusal'));
    await until(async () => ((await recorded()).includes('size:git:lfs') ? true : null));

    await clone.git('checkout', '-q', '-b', 'smaller', 'HEAD~1');
    t.match((await clone.push(['smaller:again'])).stderr, /new branch/, 'objects that are there are none');
  });
}

t.test('20 pushes at once cannot together pass a limit that counts what comes', async t => {
  const { server, cloneOf } = await open(t, { ini: { quota: { PRECISE: 'true' } } });
  const clones = [];
  for (let at = 0; at < 20; at++) {
    const clone = await cloneOf('alice/app');
    await clone.commit({ 'a.bin': 90_000 });
    clones.push(clone);
  }
  const pushes = await Promise.all(clones.map((clone, at) => clone.push([`main:branch-${at}`])));
  const { bytes, files } = await stored(server, 'alice/app');
  const passed = pushes.filter(({ code }) => code === 0).length;
  t.ok(passed >= 8 && passed <= 11, `${passed} passed`);
  t.equal(bytes, files.length * 90_000);
  t.ok(bytes <= 1_000_000, `${bytes} bytes`);
  for (const { code, stderr } of pushes)
    if (code !== 0) t.match(stderr, /Not enough quota left: alice uses .* of 1 MB/);
  await server.scan();
  t.equal(await lfsBytes(server, 'alice'), bytes);
});

const packet = (line: string) => `${(line.length + 5).toString(16).padStart(4, '0')}${line}\n`;

for (const shell of ['dash', 'bash', 'busybox sh']) {
  t.test(`in ${shell}: a client that goes away or says something odd leaves nothing running`, async t => {
    const { server, programs, bin } = await open(t, { ini: { quota: { PRECISE: 'true' } } });
    const [program = '', ...args] = shell.split(' ');
    const script = join(programs, 'git-lfs-transfer');
    const said = (input: string, operation = 'upload') =>
      run(program, [...args, script, server.path('alice/app'), operation], {
        input,
        env: { PATH: `${programs}:${bin}:/usr/bin:/bin` },
      });
    const version = `${packet('version 1')}0000`;
    const hello = '000eversion=1\n000clocking\n0000';
    const ok = '000fstatus 200\n0000';
    const quit = `${packet('quit')}0000`;
    t.match(await said(version + quit), { code: 0, stdout: `${hello}${ok}${ok}`, stderr: '' });
    t.match(await said(version + quit, 'download'), { code: 0, stdout: `${hello}${ok}${ok}` });
    const put = `${packet(`put-object ${'a'.repeat(64)}`)}${packet('size=100')}0001`;
    const half = await said(`${version}${put}0024${'x'.repeat(16)}`);
    t.match(half.stdout, /^000eversion=1\n.*status 500\n/s, 'half an object');
    t.equal((await said(`${version}zzzz`)).stdout, hello + ok, 'no length');
    t.equal((await said(`${version}0009no`)).stdout, hello + ok, 'half a line');
    t.equal((await said('')).stdout, hello);
    const short = await said(`${version}${put}0024${'x'.repeat(32)}0000`);
    t.match(short.stdout, /^000eversion=1\n.*status 500\n/s, 'an object that is too short');
  });
}
