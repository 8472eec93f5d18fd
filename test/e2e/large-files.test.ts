/** Limits of a push and of a file, with the daemon, the worker, the hooks and git. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import type { Clone } from './clone.ts';
import { run } from './run.ts';
import { Server } from './server.ts';
import { withWorker } from './with-worker.ts';

const limit = 100_000;

async function open(t: Test, { hasWorker = true } = {}) {
  const server = await Server.open(t, {
    ini: { 'quota.default': { TOTAL: '100M' } },
    repositories: ['alice/one'],
  });
  if (hasWorker) await withWorker(t, server);
  const clone = await server.filled('alice/one', 2000);
  const bound = async (per: 'file' | 'push') => {
    await server.done(`rule create a-${per} --limit ${limit} --per ${per} --subject size:repos:all`);
    await server.done(`group create of-${per}`);
    await server.done(`group add-rule of-${per} a-${per}`);
    await server.done(`group add-user of-${per} alice`);
  };
  return { server, clone, bound };
}

/** A text that packs to nearly nothing. */
function text(bytes: number): string {
  return 'the quick brown fox jumps over the lazy dog\n'.repeat(Math.ceil(bytes / 44)).slice(0, bytes);
}

async function commit(clone: Clone, name: string, content: string): Promise<void> {
  const path = join(clone.folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  await clone.git('add', name);
  await clone.git('commit', '-q', '-m', `change ${name}`);
}

/** Types the lines of the advice that follows these words, as they stand. */
async function follow(clone: Clone, said: string, words: string): Promise<void> {
  const lines = said.split('\n');
  const from = lines.findIndex(line => line.includes(words)) + 1;
  const end = lines.findIndex((line, at) => at >= from && !line.startsWith('  '));
  const script = lines.slice(from, end).join('\n');
  const env = { HOME: clone.folder, GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@example.org' };
  const committer = { GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@example.org' };
  const typed = await run('bash', ['-ec', script], { cwd: clone.folder, env: { ...env, ...committer } });
  if (typed.code !== 0 || script === '') throw new Error(`${script}: ${typed.code}\n${typed.stderr}`);
}

t.test('a large file in the third of five commits is named, and the advice makes the push pass', async t => {
  const { clone, bound } = await open(t);
  await bound('file');
  const five = async () => {
    for (const at of [1, 2, 3, 4, 5]) {
      await commit(clone, `file-${at}.txt`, `${at}`);
      if (at === 3) await commit(clone, "assets/my 'video'.bin", text(101_000));
    }
  };
  await five();
  const { code, said } = await clone.push();
  t.equal(code, 1);
  t.match(said, "assets/my 'video'.bin has 101 kB; a file may have 100 kB.");
  t.match(said, 'Decided by rule "a-file" of group "of-file".');
  t.notMatch(said, /garbage collection/);
  await follow(clone, said, 'out of your commits');
  t.match(await clone.push(), { code: 0 });
  t.match(await clone.git('log', '--format=%s', 'origin/main..HEAD', '--'), '', 'all is pushed');
});

t.test(
  'a file of several versions is taken out of the history, and one of the last commit out of it',
  async t => {
    const { clone, bound } = await open(t);
    await bound('file');
    await commit(clone, 'large.txt', text(120_000));
    await commit(clone, 'large.txt', `${text(120_000)}more`);
    await commit(clone, 'other.txt', 'other');
    const first = await clone.push();
    t.match(first, { code: 1, said: /^large\.txt has 120 kB; a file may have 100 kB\./m });
    t.match(first.said, 'git filter-repo');
    await follow(clone, first.said, 'out of your commits');
    t.match(await clone.push(), { code: 0 });
    await commit(clone, 'last.txt', text(130_000));
    const second = await clone.push();
    t.match(second, { code: 1, said: /^last\.txt has 130 kB/m });
    await follow(clone, second.said, 'out of your last commit');
    t.match(await clone.push(), { code: 0 });
    t.equal(
      (await readFile(join(clone.folder, 'last.txt'))).length,
      130_000,
      'it is still in the working copy',
    );
  },
);

t.test('a large file goes into git LFS by the line of the advice', async t => {
  const { server, clone, bound } = await open(t);
  await bound('file');
  await clone.git('remote', 'set-url', 'origin', `file://${server.path('alice/one')}`);
  await clone.git('fetch', '-q', 'origin');
  await clone.git('lfs', 'install', '--local');
  await commit(clone, 'assets/video.bin', text(150_000));
  const { code, said } = await clone.push();
  t.equal(code, 1);
  await follow(clone, said, 'git LFS');
  t.match(await clone.push(), { code: 0 });
});

t.test('what was large before stays, and each change of it is refused, however git packs it', async t => {
  const { server, clone, bound } = await open(t);
  const old = text(200_000);
  await commit(clone, 'old.txt', old);
  t.match(await clone.push(), { code: 0 });
  await bound('file');
  await commit(clone, 'new.txt', 'new');
  t.match(await clone.push(), { code: 0 }, 'a change beside it');
  await clone.git('checkout', '-q', '-b', 'changed');
  await commit(clone, 'old.txt', old.replace('quick', 'Quick'));
  const refused = { code: 1, said: /^old\.txt has 200 kB; a file may have 100 kB\./m };
  t.match(await clone.push(['--thin', 'changed']), refused, 'thin, loose');
  await run('git', ['-C', server.path('alice/one'), 'config', 'receive.unpackLimit', '1']);
  t.match(await clone.push(['--thin', 'changed']), refused, 'thin, in a pack');
  t.match(await clone.push(['--no-thin', 'changed']), refused, 'in a pack');
  t.match(await clone.push(['--force', 'main~1:main']), { code: 0 }, 'a smaller history');
});

t.test('a push may bring so much, and the oldest commits pass first', async t => {
  const { clone, bound } = await open(t);
  await bound('push');
  await clone.commit(60_000);
  await clone.commit(60_000);
  const { code, said } = await clone.push();
  t.equal(code, 1);
  t.match(said, /^This push brings 12\d kB; a push may bring 100 kB\./m);
  t.match(said, 'git push origin COMMIT:refs/heads/BRANCH');
  t.match(await clone.push(['HEAD~1:refs/heads/main']), { code: 0 });
  t.match(await clone.push(), { code: 0 });
});

t.test('without a worker a refusal names the object', async t => {
  const { clone, bound } = await open(t, { hasWorker: false });
  await bound('file');
  await commit(clone, 'large.txt', text(120_000));
  const { code, said } = await clone.push();
  t.equal(code, 1);
  const object = (await clone.git('rev-parse', 'HEAD:large.txt')).trim();
  t.match(said, `The file with the object id ${object} has 120 kB; a file may have 100 kB.`);
  const [, line = ''] = /^ +(git rev-list .*)$/m.exec(said) ?? [];
  const typed = await run('bash', ['-c', line], { cwd: clone.folder });
  t.match(typed.stdout, 'large.txt');
});
