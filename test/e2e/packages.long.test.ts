/** The packages where nothing else is: Debian releases without Node, rpm, an empty folder, and made twice. */

import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import t, { type Test } from 'tap';
import { temporaryFolder } from '../temporary-folder.ts';
import { packageHeading, readGuide } from './guide.ts';
import { liveThrough, makePackages, olderVersion } from './packages.ts';
import { must } from './run.ts';
import { SandboxHost } from './sandbox-host.ts';

t.setTimeout(3_600_000);

const releases = ['bookworm', 'trixie'];

/** A root directory with what a git server has, and systemd. */
async function debianRoot(t: Test, release: string): Promise<string> {
  const root = join(temporaryFolder(t), release);
  const packages = '--include=curl,git,netcat-openbsd,systemd,procps';
  await must('debootstrap', ['--variant=minbase', packages, release, root]);
  return root;
}

for (const release of releases) {
  t.test(`on Debian ${release} without Node, the package has its whole life`, async t => {
    const [older = ''] = await makePackages(t, '--only', 'deb', '--as', olderVersion);
    const [newer = ''] = await makePackages(t, '--only', 'deb');
    const guide = (await readGuide()).filter(({ heading }) => heading === packageHeading).slice(0, 1);
    const host = await SandboxHost.open(t, { root: await debianRoot(t, release) });
    t.not((await host.run('sh', ['-c', 'command -v node'])).code, 0);
    await liveThrough(t, { host, older, newer, guide });
  });
}

t.test('the tarball runs where it is unpacked, with the Node in it', async t => {
  const [tarball = ''] = await makePackages(t, '--only', 'tar');
  const folder = temporaryFolder(t);
  await must('cp', [tarball, folder]);
  const [, typed] = (await readGuide()).filter(({ heading }) => heading === packageHeading);
  const env = { PATH: '/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: folder };
  const played = await must('sh', ['-euc', typed?.text ?? 'false'], { cwd: folder, env });
  t.match(played, /remote: Quota exceeded: alice uses [\s\S]*Every step went as described\.$/);
});

t.test('the .rpm is installed, upgraded and erased', async t => {
  const [older = ''] = await makePackages(t, '--only', 'rpm', '--as', olderVersion);
  const [newer = ''] = await makePackages(t, '--only', 'rpm');
  const host = await SandboxHost.open(t);
  const sh = (text: string) => host.must('sh', ['-euc', text]);
  for (const file of [older, newer]) await must('cp', [file, host.folder]);
  await sh(`rpm --install --nodeps ${host.folder}/${basename(older)}`);
  t.equal(await sh('softquota --version'), olderVersion);
  t.match(await sh('getent passwd softquota'), /^softquota:/);
  await sh('echo "[quota]" >/etc/softquota/app.ini');
  await sh(`rpm --upgrade --nodeps ${host.folder}/${basename(newer)}`);
  t.not(await sh('softquota --version'), olderVersion);
  const erased = await sh('rpm --erase softquota');
  t.match(erased, /these stay: the configuration and the data/);
  t.equal(await sh('cat /etc/softquota/app.ini'), '[quota]');
  t.equal(await sh('ls /usr/lib/softquota /usr/share/doc/softquota 2>/dev/null || true'), '');
});

t.test('the .rpm is installed into an empty root, whole, and leaves nothing there', async t => {
  const [file = ''] = await makePackages(t, '--only', 'rpm');
  const root = temporaryFolder(t);
  const rpm = (...args: readonly string[]) => must('rpm', ['--root', root, '--dbpath', '/rpmdb', ...args]);
  t.match(await must('rpm', ['--checksig', '--nosignature', file]), /digests OK/);
  // The programs that its scripts run are not in an empty root.
  await rpm('--install', '--nodeps', '--noscripts', file);
  t.equal(await rpm('--verify', '--nodeps', '--noscripts', 'softquota'), '', 'all of it is as it was packed');
  const listed = await rpm('--query', '--list', 'softquota');
  for (const path of ['/usr/bin/softquota', '/usr/lib/systemd/system/softquota.service'])
    t.ok(listed.split('\n').includes(path), path);
  const program = [join(root, 'usr/lib/softquota/bin/softquota.js'), '--version'];
  t.equal(
    (await must(join(root, 'usr/lib/softquota/node'), program)).trim(),
    await rpm('--query', '--queryformat', '%{VERSION}', 'softquota'),
    'it runs by its own Node',
  );
  await rpm('--erase', '--noscripts', 'softquota');
  const left = await must('find', [root, '-not', '-type', 'd', '-not', '-path', `${root}/rpmdb/*`]);
  t.equal(left, '');
});

t.test('the same sources give the same bytes, and SHA256SUMS has their sums', async t => {
  const sums = async () => {
    const files = await makePackages(t);
    const folder = join(files[0] ?? '', '..');
    await must('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder });
    return readFile(join(folder, 'SHA256SUMS'), 'utf8');
  };
  const first = await sums();
  t.equal(first.split('\n').length, 6, first);
  t.equal(await sums(), first);
});
