/**
 * The npm package in an empty folder, and the .deb on a copy of this host; packages.long.test.ts has the
 * rest.
 */

import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { z } from 'zod';
import { temporaryFolder } from '../temporary-folder.ts';
import { makePackages, shared } from './packages.ts';
import { must } from './run.ts';
import { SandboxHost } from './sandbox-host.ts';

t.setTimeout(600_000);

const [debFile = '', npmFile = '', billFile = ''] = await makePackages(t, '--only', 'deb,npm');

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
