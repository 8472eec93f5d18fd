/**
 * Packages that need no installation: the tarball where it is unpacked, and the npm package in an empty
 * folder.
 */

import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { z } from 'zod';
import { temporaryFolder } from '../temporary-folder.ts';
import { packageHeading, readGuide } from './guide.ts';
import { makePackages } from './packages.ts';
import { must, run } from './run.ts';

t.setTimeout(600_000);

const story = /remote: Quota exceeded: alice uses [\s\S]*Every step went as described\.\n$/;

const [tarball = '', npmFile = '', billFile = ''] = await makePackages(t, '--only', 'tar,npm');

t.test('the tarball runs where it is unpacked, with the Node in it', async t => {
  const folder = temporaryFolder(t);
  await must('cp', [tarball, folder]);
  const [, typed] = (await readGuide()).filter(({ heading }) => heading === packageHeading);
  const env = { PATH: '/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: folder };
  const played = await run('sh', ['-euc', typed?.text ?? 'false'], { cwd: folder, env });
  t.equal(played.code, 0, played.stderr);
  t.match(played.stdout, story);
});

t.test('the npm package works in an empty folder, by npx', async t => {
  const folder = temporaryFolder(t);
  const env = { HOME: folder, npm_config_cache: join(folder, 'cache') };
  await must('npm', ['install', '--offline', '--no-audit', '--no-fund', npmFile], { cwd: folder, env });
  const played = await run('npx', ['softquota', 'playground', '--exit'], { cwd: folder, env });
  t.equal(played.code, 0, played.stderr);
  t.match(played.stdout, story);
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
