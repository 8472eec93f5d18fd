/**
 * The units of systemd/: that systemd takes them, how exposed they leave the daemon, and that they fit it.
 */

import { cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { enoughDescriptors } from '../../src/service/index.ts';
import { must, run } from '../e2e/run.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const systemd = fileURLToPath(new URL('../../systemd', import.meta.url));

async function unitsHere(): Promise<readonly string[]> {
  const names = await readdir(systemd);
  return names.filter(name => /\.(service|socket)$/.test(name)).sort();
}

/** The values of a key, in order. */
async function valuesOf(unit: string, key: string): Promise<readonly string[]> {
  const lines = (await readFile(join(systemd, unit), 'utf8')).split('\n');
  return lines.flatMap(line => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));
}

/** An empty root with this package's snippets where distributions have theirs. */
async function rootOf(t: Test): Promise<string> {
  const root = temporaryFolder(t);
  await mkdir(join(root, 'etc'));
  for (const folder of ['sysusers.d', 'tmpfiles.d']) {
    await cp(join(systemd, folder), join(root, 'usr/lib', folder), { recursive: true });
  }
  return root;
}

t.test('systemd accepts every unit, without a word', async t => {
  const units = await unitsHere();
  t.strictSame(units, [
    'softquota-trusted.socket',
    'softquota-worker.service',
    'softquota.service',
    'softquota.socket',
  ]);
  const paths = units.map(name => join(systemd, name));
  const verified = await run('systemd-analyze', ['verify', '--man=no', ...paths]);
  t.match(verified, { code: 0, stdout: '', stderr: '' });
});

for (const name of ['softquota', 'softquota-worker']) {
  t.test(`systemd finds ${name}.service exposed by 2.5 of 10 at most`, async t => {
    const unit = join(systemd, `${name}.service`);
    const args = ['security', '--offline=true', '--no-pager', '--threshold=25', unit];
    const { code, stdout } = await run('systemd-analyze', args);
    t.equal(code, 0, stdout);
    const [, exposure] = /Overall exposure level for softquota[-\w]*\.service: ([\d.]+)/.exec(stdout) ?? [];
    t.ok(Number(exposure) <= 2.5);
    t.comment(`exposure ${exposure}`);
  });
}

t.test('the worker runs as the user of git, with no right of root’s', async t => {
  t.strictSame(await valuesOf('softquota-worker.service', 'User'), ['git']);
  t.strictSame(await valuesOf('softquota-worker.service', 'CapabilityBoundingSet'), ['']);
  // In a repository that a group shares, new directories have the setgid bit.
  t.strictSame(await valuesOf('softquota-worker.service', 'RestrictSUIDSGID'), []);
  t.strictSame(await valuesOf('softquota-worker.service', 'RestartPreventExitStatus'), ['77 78']);
  // The user's other programs, such as a forge, may have some that systemd does not know of.
  t.strictSame(await valuesOf('softquota-worker.service', 'RemoveIPC'), []);
});

t.test('the daemon may read every repository, and has no other right of root’s', async t => {
  t.strictSame(await valuesOf('softquota.service', 'CapabilityBoundingSet'), ['CAP_DAC_READ_SEARCH']);
  t.strictSame(await valuesOf('softquota.service', 'AmbientCapabilities'), ['CAP_DAC_READ_SEARCH']);
  t.strictSame(await valuesOf('softquota.service', 'User'), ['softquota']);
  t.strictSame(await valuesOf('softquota.service', 'ProtectHome'), ['read-only']);
});

t.test('what is to have a low priority may lower it', async t => {
  for (const name of ['softquota.service', 'softquota-worker.service'])
    t.match((await valuesOf(name, 'SystemCallFilter')).at(-1), /\bsetpriority\b/, name);
});

t.test('the daemon may open as many files as all its sockets take connections, and more', async t => {
  const [limit] = await valuesOf('softquota.service', 'LimitNOFILE');
  t.ok(Number(limit) >= enoughDescriptors, `${limit}`);
});

t.test('the journal has the log of the daemon under the name that the manual asks for', async t => {
  t.strictSame(await valuesOf('softquota.service', 'SyslogIdentifier'), ['softquota']);
});

t.test('the sockets are where hooks look for them, and are told apart by their names', async t => {
  t.strictSame(await valuesOf('softquota.socket', 'ListenStream'), ['/run/softquota/gate.sock']);
  t.strictSame(await valuesOf('softquota.socket', 'FileDescriptorName'), ['gate']);
  t.strictSame(await valuesOf('softquota-trusted.socket', 'FileDescriptorName'), ['trusted']);
  t.strictSame(await valuesOf('softquota-trusted.socket', 'Service'), ['softquota.service']);
  t.strictSame(await valuesOf('softquota-trusted.socket', 'SocketMode'), ['0600']);
  const sockets = ['softquota.socket softquota-trusted.socket'];
  t.strictSame(await valuesOf('softquota.service', 'Sockets'), sockets);
  t.strictSame(await valuesOf('softquota.service', 'Also'), sockets);
});

t.test('systemd-sysusers makes the user and its group, without a shell', async t => {
  const root = await rootOf(t);
  await must('systemd-sysusers', [`--root=${root}`]);
  const passwd = await readFile(join(root, 'etc/passwd'), 'utf8');
  t.match(passwd, /^softquota:x:\d+:\d+:.*:\/var\/lib\/softquota:\/usr\/sbin\/nologin$/m);
  t.match(await readFile(join(root, 'etc/group'), 'utf8'), /^softquota:x:\d+:$/m);
});

t.test('systemd-tmpfiles makes the sockets’ folder, writable for the daemon alone', async t => {
  const root = await rootOf(t);
  await must('systemd-sysusers', [`--root=${root}`]);
  await must('systemd-tmpfiles', [`--root=${root}`, '--create', 'softquota.conf']);
  const folder = await stat(join(root, 'run/softquota'));
  const [, uid] = /^softquota:x:(\d+):/m.exec(await readFile(join(root, 'etc/passwd'), 'utf8')) ?? [];
  t.equal(folder.mode & 0o7777, 0o755);
  t.equal(folder.uid, Number(uid));
});

t.test('systemd accepts the units with each drop-in of the manual', async t => {
  const folder = await rootOf(t);
  const manual = await readFile(new URL('../../docs/systemd.md', import.meta.url), 'utf8');
  const blocks = [...manual.matchAll(/```ini\n(\[(Service|Socket)\]\n.*?)```/gs)];
  t.ok(blocks.length >= 4, `${blocks.length} drop-ins`);
  for (const name of await unitsHere()) {
    await cp(join(systemd, name), join(folder, name));
    const section = name.endsWith('.socket') ? 'Socket' : 'Service';
    await mkdir(join(folder, `${name}.d`));
    for (const [index, [, text = '', of]] of blocks.entries()) {
      if (of === section) await writeFile(join(folder, `${name}.d`, `${index}.conf`), text);
    }
  }
  const paths = (await unitsHere()).map(name => join(folder, name));
  const verified = await run('systemd-analyze', ['verify', '--man=no', ...paths]);
  t.match(verified, { code: 0, stdout: '', stderr: '' });
});
