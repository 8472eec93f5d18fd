/** The packages where nothing else is: Debian releases without Node, rpm, an empty folder, and made twice. */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { schemaVersion } from '../../src/store/sqlite/schema.ts';
import { backToVersion8 } from '../store/older.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type Block, packageHeading, readGuide } from './guide.ts';
import { makePackages, shared } from './packages.ts';
import { must, type Run } from './run.ts';
import { SandboxHost } from './sandbox-host.ts';

t.setTimeout(3_600_000);

/** The release before, as far as the tests know one. */
const olderVersion = '0.0.9';
const releases = ['bookworm', 'trixie'];

/** A root directory with what a git server has, and systemd. */
async function debianRoot(t: Test, release: string): Promise<string> {
  const root = join(temporaryFolder(t), release);
  const packages = '--include=curl,git,netcat-openbsd,systemd,procps';
  await must('debootstrap', ['--variant=minbase', packages, release, root]);
  return root;
}

/**
 * A git server as it is before softquota: the user git, and alice's repository with 2 MB that only git reads.
 */
const server = `
useradd --create-home --groups softquota git
install -d -o git -g git -m 750 /srv/git
runuser -u git -- git init -q --bare -b main /srv/git/alice/app.git
runuser -u git -- sh -c 'head -c 2000000 /dev/urandom >/srv/git/alice/app.git/objects/pack/some'
`;

/** A push of git's own user, to an own branch. */
const push = `
rm -rf /tmp/clone
runuser -u git -- git init -q -b main /tmp/clone
cd /tmp/clone
runuser -u git -- git -c user.name=alice -c user.email=alice@git.example commit -q --allow-empty -m "$1"
runuser -u git -- git push -q /srv/git/alice/app.git "main:$1" 2>&1
`;

/** Lines for a shell: they do something with the store of a daemon that is stopped. */
const withStore = (script: string) =>
  `/usr/lib/softquota/node -e "
const store = new (require('node:sqlite').DatabaseSync)('/var/lib/softquota/softquota.db');
${script}
store.close();"`;
const change = (statements: string) =>
  withStore(`store.exec('${statements.replaceAll('\n', ' ').replaceAll("'", "\\'")}');`);
const storeVersion = withStore(`console.log(store.prepare('PRAGMA user_version').get().user_version);`);

/** Lists every file where programs leave something, but the host's lists of packages and its logs. */
const everything = `
find /etc /usr /var /opt /srv /home /run -path /run/systemctl -prune -o -path /var/lib/dpkg -prune \\
	-o -path /var/lib/apt -prune -o -path /var/cache/apt -prune -o -path /var/cache/ldconfig -prune \\
	-o -path /var/cache/man -prune -o -path /var/cache/debconf -prune -o -path /var/log -prune -o -print | sort
`;

interface Life {
  readonly host: SandboxHost;
  readonly older: string;
  readonly newer: string;
  /** The commands of the manual, from nothing to a protected server. */
  readonly guide: readonly Block[];
}

/** Goes through the life of the .deb on a host that has none. */
async function liveThrough(t: Test, { host, older, newer, guide }: Life): Promise<void> {
  const sh = (text: string, ...args: readonly string[]): Promise<Run> =>
    host.run('sh', ['-euc', text, 'sh', ...args], { env: { DEBIAN_FRONTEND: 'noninteractive' } });
  const done = async (text: string, ...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await sh(text, ...args);
    if (code !== 0) throw new Error(`${text}exit ${code}\n${stdout}${stderr}`);
    return stdout;
  };
  // dpkg has a search path of its own.
  await done(
    `ln -sf /usr/local/sbin/systemctl /usr/bin/systemctl
mkdir -p /run/systemd/system /tmp/packages
cp "$1" /tmp/packages/softquota_0_amd64.deb
chmod 1777 /tmp`,
    await shared(host, older),
  );
  // Another installation's units would hide those of the package.
  const other = await sh(`install -D /dev/null /usr/lib/softquota/systemd/install
dpkg --install /tmp/packages/softquota_0_amd64.deb`);
  t.not(other.code, 0);
  t.match(other.stderr, /installed from a checkout or by npm already\. Remove that first/);
  await done('rm -rf /usr/lib/softquota; dpkg --purge softquota 2>/dev/null || true');
  const before = new Set((await done(everything)).split('\n'));
  const startedAt = performance.now();

  const commands = guide.flatMap(({ text }) => text.trim().split('\n'));
  t.ok(commands.length <= 5, `${commands.length} commands lead to a protected server`);
  for (const [index, command] of commands.entries()) {
    // The server is made once its group is there, as the manual has it.
    if (index === 1) await done(server);
    const { code, stdout, stderr } = await sh(
      `cd /tmp/packages; ${command.replace('--total 10G', '--total 1M')}`,
    );
    t.equal(code, 0, command, { stdout, stderr });
  }
  const refused = await sh(push, 'first');
  t.not(refused.code, 0);
  t.match(refused.stdout, /Quota exceeded: alice uses 2\.\d+ MB of 1 MB/);
  t.ok(performance.now() - startedAt < 300_000, 'within five minutes');
  t.equal(await done('softquota --version'), `${olderVersion}\n`);

  const status = 'curl -sf --unix-socket /run/softquota/admin.sock http://localhost/api/v1/version';
  const install = async (file: string) => done(`dpkg --install "$1" 2>&1`, await shared(host, file));
  const isKept = async (t: Test, settings: string) => {
    t.equal(await done('cat /etc/softquota/app.ini'), settings);
    t.match(await done('softquota rule list'), /^kept /m);
    t.match(await sh(push, 'second'), { stdout: /Quota exceeded: alice uses 2\.\d+ MB of 1 MB/ });
  };

  await t.test('an upgrade keeps settings and restarts the daemon', async t => {
    await done(`softquota rule create kept --limit 5G --subject size:all
echo '; a line of mine' >>/etc/softquota/app.ini`);
    const settings = await done('cat /etc/softquota/app.ini');
    t.match(await done(status), `"${olderVersion}"`);
    t.notMatch(await install(newer), /did not start/);
    const version = (await done('softquota --version')).trim();
    t.not(version, olderVersion);
    t.match(await done(status), `"${version}"`);
    await isKept(t, settings);
    t.equal(
      await done('softquota hooks status /srv/git | tail -1'),
      '1 repository, all with working hooks.\n',
    );
  });

  await t.test('an upgrade brings the store of an older version up to date', async t => {
    await done(`systemctl stop softquota; ${change(backToVersion8)}`);
    await install(newer);
    t.equal(await done(storeVersion), '8\n');
    await done('systemctl start softquota; systemctl stop softquota');
    t.equal(await done(storeVersion), `${schemaVersion}\n`);
    await done('systemctl start softquota');
    await isKept(t, await done('cat /etc/softquota/app.ini'));
  });

  await t.test('an upgrade that the daemon does not survive says so, and is whole', async t => {
    await done('cp /etc/softquota/app.ini /root/app.ini; echo nonsense >>/etc/softquota/app.ini');
    t.match(await install(newer), /the service did not start again: systemctl status softquota tells why/);
    t.match(await done('dpkg --status softquota'), /^Status: install ok installed$/m);
    await done('mv /root/app.ini /etc/softquota/app.ini; systemctl start softquota');
  });

  await t.test('an older softquota refuses the store of a newer one, and leaves it alone', async t => {
    const sums = 'cd /var/lib/softquota; sha256sum softquota.db*';
    await done(`systemctl stop softquota; ${change('PRAGMA user_version = 99')}`);
    const before = await done(sums);
    t.match(await install(older), /downgrading softquota/);
    t.not((await sh('systemctl start softquota')).code, 0);
    const started = await sh('softquota serve --config /etc/softquota/app.ini');
    t.equal(started.code, 78);
    t.match(started.stderr, /was written by a newer softquota: it has version 99/);
    t.equal(await done(sums), before);
    await done(change(`PRAGMA user_version = ${schemaVersion}`));
    await install(newer);
    await done('systemctl start softquota');
    await isKept(t, await done('cat /etc/softquota/app.ini'));
  });

  await t.test('remove leaves configuration and data, and says so; pushes go on', async t => {
    const removed = await done('dpkg --remove softquota');
    t.match(removed, /these stay: the configuration and the data \(\/etc\/softquota \/var\/lib\/softquota\)/);
    t.equal(
      (await sh('pgrep -u softquota -r S,R,D,T')).code,
      1,
      'nothing of it runs, but what nobody waits for',
    );
    const passed = await sh(push, 'third');
    t.equal(passed.code, 0, passed.stdout);
    t.match(passed.stdout, /the quota could not be checked, so this push is allowed/);
    await done('test -s /etc/softquota/app.ini && test -s /var/lib/softquota/softquota.db');
  });

  await t.test('purge leaves what it says, and nothing else', async t => {
    const purged = await done('dpkg --purge softquota');
    t.match(purged, /these stay:\s+the user and group softquota/);
    const after = (await done(everything)).split('\n').filter(
      // Other programs of the directory below may leave something there meanwhile.
      path => !before.has(path) && !existsSync(join(host.root, path)),
    );
    const ofServer = /^\/(srv|home)\/git(\/|$)/;
    const shadows = /^\/etc\/(sub[ug]id|passwd|group|g?shadow)-?$/;
    t.strictSame(
      after.filter(path => !ofServer.test(path) && !shadows.test(path) && !path.startsWith('/var/mail')),
      [],
    );
    t.match(await done('getent passwd softquota'), /^softquota:/);
  });
}

const [debFile = '', npmFile = '', billFile = ''] = await makePackages(t, '--only', 'deb,npm');

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

t.test('the npm package works in an empty folder, by npx', async t => {
  const folder = temporaryFolder(t);
  const env = { HOME: folder, npm_config_cache: join(folder, 'cache') };
  await must('npm', ['install', '--offline', '--no-audit', '--no-fund', npmFile], { cwd: folder, env });
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  t.equal(await must('npx', ['softquota', '--version'], { cwd: folder, env }), version);
});

t.test('what man and the shells look for is where they find it, once the .deb is installed', async t => {
  const host = await SandboxHost.open(t);
  // Some images leave manual pages out.
  await host.must('dpkg', ['--path-include=/usr/share/man/*', '--install', await shared(host, debFile)]);
  t.match(await host.must('man', ['softquota']), /^SOFTQUOTA\(1\)/);
  t.match(await host.must('man', ['app.ini']), /^APP\.INI\(5\)/);
  t.match(await host.must('fish', ['-c', 'complete -C "softquota rule cre"']), /^create\t/);
  t.equal(
    await host.must('zsh', ['-fc', 'autoload -U compinit; compinit -u -D; echo $_comps[softquota]']),
    '_softquota',
  );
  // Completion is found where bash-completion looks for a command of this name.
  t.equal(
    await host.must('bash', [
      '-c',
      'source /usr/share/bash-completion/completions/softquota; complete -p softquota',
    ]),
    'complete -F _softquota softquota',
  );
});

const bill = z.object({
  metadata: z.object({ component: z.object({ name: z.string(), version: z.string() }) }),
  components: z.array(z.object({ name: z.string(), version: z.string(), scope: z.string() })),
});

t.test('the npm package comes with its checksum, and with a bill of what it ships', async t => {
  await must('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: dirname(npmFile) });

  const listed = (await must('tar', ['-tzf', npmFile])).trim().split('\n');
  const top = new Set(listed.map(path => path.split('/')[1]));
  const files = ['CHANGELOG.md', 'LICENSE', 'README.md', 'app.ini.example'];
  t.strictSame([...top].sort(), [
    ...files,
    'bin',
    'dist',
    'docs',
    'hooks',
    'package.json',
    'share',
    'systemd',
  ]);

  const { metadata, components } = bill.parse(JSON.parse(await readFile(billFile, 'utf8')));
  t.equal(metadata.component.name, 'softquota');
  t.strictSame(new Set(components.map(({ scope }) => scope)), new Set(['required']));
  const named = new Set(components.map(({ name, version }) => `${name}@${version}`));
  const licenses = fileURLToPath(new URL('../../dist/licenses.txt', import.meta.url));
  const bundled = [...(await readFile(licenses, 'utf8')).matchAll(/^## (\S+) - (\S+)/gm)];
  t.ok(bundled.length > 50);
  t.strictSame(
    bundled.map(([, name, version]) => `${name}@${version}`).filter(each => !named.has(each)),
    [],
  );
  const names = components.map(({ name }) => name);
  t.ok(names.includes('node') && names.includes('preact') && !names.includes('vitepress'));
});
