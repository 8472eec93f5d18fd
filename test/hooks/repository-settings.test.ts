/** A repository's settings as the shell reads them: what git reads, without git where git wrote the file. */

import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { isLong } from '../run-length.ts';
import { run } from './world.ts';

const fragment = await readFile(
  new URL('../../scripts/hooks/fragments/repository-settings.sh', import.meta.url),
  'utf8',
);
const folder = await mkdtemp(join(tmpdir(), 'sq-'));
t.teardown(() => rm(folder, { recursive: true }));

/** Prints what is taken, whether git ran, and what is at fault. */
const script = (after: string) => `set -u
nl='
'
fault=
become() { : >git-ran; (exec "$@"); }
take() { printf '%s=%s|' "$(printf %s "$1" | tr A-Z a-z)" "$2"; }
${fragment}
${after}
read_repository
printf '%s' "$fault"`;

async function settings(config: string, shell: string, after = '') {
  await writeFile(join(folder, 'config'), config);
  await rm(join(folder, 'git-ran'), { force: true });
  const { stdout } = await run(shell, ['-c', script(after)], { cwd: folder });
  return { found: stdout, isGitRun: existsSync(join(folder, 'git-ran')) };
}

const byGit = (config: string) => settings(config, 'sh', 'read_plainly() { return 1; }');

const shells = ['dash', 'bash', 'busybox'].map(shell => ({
  shell,
  run: (config: string) =>
    shell === 'busybox' ? settings(config, join(folder, 'busybox-sh')) : settings(config, shell),
}));
await writeFile(join(folder, 'busybox-sh'), '#!/bin/sh\nexec busybox sh "$@"\n', { mode: 0o755 });

t.test('what git config writes is read without git', async t => {
  const file = join(folder, 'written');
  const values = {
    socket: '/run/soft quota/g=1.sock',
    onError: 'deny',
    lastFor: '3d',
    timeout: '1.5',
    judgeTimeout: '9',
  };
  await writeFile(file, '[core]\n\tbare = true\n[remote "a [b] c"]\n\turl = x\n');
  for (const [key, value] of Object.entries(values))
    await run('git', ['config', '--file', file, `softquota.${key}`, value]);
  const config = await readFile(file, 'utf8');
  const found = Object.entries(values)
    .map(([key, value]) => `${key.toLowerCase()}=${value}|`)
    .join('');
  for (const each of shells) t.strictSame(await each.run(config), { found, isGitRun: false }, each.shell);
  t.strictSame(await byGit(config), { found, isGitRun: true });
});

const line = fc.oneof(
  fc.constantFrom(
    '[softquota]',
    '[softquota]',
    '[SoftQuota]',
    '[softquota "sub"]',
    '[softquota.sub]',
    '[softquota] timeout = 9',
    '[core] [softquota]',
    '[core]',
    '\ufeff[softquota]',
    'socket = /a',
    '\tsocket = /a b  c',
    ' socket=/a',
    'socket =  /a',
    'socket = "/a"',
    'socket = /a # why',
    'socket = /a;b',
    'socket = a\\',
    'socket = a\\tb',
    'socket',
    'socket =',
    'SOCKET = /b',
    'onError = deny ',
    'onerror = allow',
    'lastFor = 2h\r',
    'timeout = 1 = 2',
    'other = 1',
    '# [softquota]',
    '; socket = /c',
    '',
    '  ',
    'url = x [softquota]',
    '\u0001',
    'socket = \u0001',
    'socket = ü',
  ),
  fc.string({ maxLength: 8 }),
);

t.test('whatever the file has, the shell takes what git takes', async t => {
  const [dash] = shells;
  let plain = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 6 }), fc.constantFrom('\n', ''), async (lines, end) => {
      const config = lines.join('\n') + end;
      const { found } = await byGit(config);
      // git would not have run a hook in such a repository.
      fc.pre(!found.endsWith('cannot be read'));
      const ours = await dash?.run(config);
      if (ours?.isGitRun === false) plain += 1;
      t.equal(ours?.found, found, JSON.stringify(config));
    }),
    {
      numRuns: isLong ? 5000 : 150,
      examples: [
        [['[core]', 'socket = a\\', '[softquota]', 'socket = /a'], '\n'],
        [['[softquota]', 'socket = a\\', 'timeout = 2'], '\n'],
        [['[softquota]', 'onError = deny', '[core]', 'socket = /b'], ''],
        [['[softquota]', 'socket = /a', '[SoftQuota]', 'socket = /b'], '\n'],
        [['[softquota]', 'lastFor = 2h\r', '[core]\r'], '\n'],
        [['[softquota]', 'socket =  /a', 'timeout = 1 # x'], '\n'],
      ],
    },
  );
  t.ok(plain > 0, 'some were read without git');
});

t.test('a file that is very long is left to git', async t => {
  const config = `${'# line\n'.repeat(300)}[softquota]\n\tsocket = /a\n`;
  for (const each of shells) t.strictSame(await each.run(config), { found: 'socket=/a|', isGitRun: true });
});
