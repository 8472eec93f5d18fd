/** What needs no installation: the tarball where it is unpacked, and the npm package in an empty folder. */

import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { packageHeading, readGuide } from './guide.ts';
import { packed } from './package.ts';
import { makePackages } from './packages.ts';
import { must, run } from './run.ts';

async function emptyFolder(t: Test): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'sq-')));
  t.teardown(() => rm(folder, { recursive: true }));
  return folder;
}

const story = /remote: Quota exceeded: alice uses [\s\S]*Every step went as described\.\n$/;

t.test('the tarball runs where it is unpacked, with the Node in it', async t => {
  const [tarball = ''] = await makePackages(t, '--only', 'tar');
  const folder = await emptyFolder(t);
  await must('cp', [tarball, folder]);
  const [, typed] = (await readGuide()).filter(({ heading }) => heading === packageHeading);
  const env = { PATH: '/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: folder };
  const played = await run('sh', ['-euc', typed?.text ?? 'false'], { cwd: folder, env });
  t.equal(played.code, 0, played.stderr);
  t.match(played.stdout, story);
});

t.test('the npm package works in an empty folder, by npx', async t => {
  const folder = await emptyFolder(t);
  const file = await packed(folder);
  const env = { HOME: folder, npm_config_cache: join(folder, 'cache') };
  await must('npm', ['install', '--offline', '--no-audit', '--no-fund', file], { cwd: folder, env });
  const played = await run('npx', ['softquota', 'playground', '--exit'], { cwd: folder, env });
  t.equal(played.code, 0, played.stderr);
  t.match(played.stdout, story);
});
