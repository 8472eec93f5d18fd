/**
 * The limits of a file and of a push, with the daemon, the worker, the hooks, git and a real sshd; in the long
 * run with the sizes that hosts have.
 */

import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { formatBytes } from '../../src/text.ts';
import { isLong } from '../run-length.ts';
import { Clone } from './clone.ts';
import { identity, run } from './run.ts';
import { Server } from './server.ts';
import { transports } from './transports.ts';
import { withWorker } from './with-worker.ts';

t.setTimeout(isLong ? 1_800_000 : 240_000);

/** The limit of a file: in the long run that of GitHub, else small enough to be quick. */
const fileLimit = isLong ? 100_000_000 : 1_000_000;

/** Starts a server with repositories that are reached over ssh; `limit` gives an owner a group of its own. */
async function openLimited(t: Test, repositories: readonly string[], { hasWorker = true } = {}) {
  const server = await Server.open(t, { ini: { 'quota.default': { TOTAL: '-1' } }, repositories });
  if (hasWorker) await withWorker(t, server);
  const ssh = await transports.ssh(t, server);
  return {
    server,
    clone: (name: string) => Clone.of(server, ssh.url(server.path(name)), { env: ssh.env }),
    limit: async (owner: string, per: 'file' | 'push', limit: number) => {
      const rule = { name: `${owner}-${per}`, limit, per, subjects: ['size:repos:all'] };
      await server.admin('/admin/quota/groups', { body: { name: owner, rules: [rule] } });
      await server.admin(`/admin/quota/groups/${owner}/users/${owner}`, { method: 'PUT' });
    },
  };
}

/** A text that packs to next to nothing. */
function text(bytes: number): string {
  return 'the quick brown fox jumps over the lazy dog\n'.repeat(bytes / 40).slice(0, bytes);
}

async function commit(clone: Clone, files: Readonly<Record<string, string | Buffer>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const path = join(clone.folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
  await clone.git('add', '--all');
  await clone.git('commit', '-q', '-m', 'a change');
}

/** Types the lines of the advice that follows these words, as they stand. */
async function follow(clone: Clone, said: string, words: string): Promise<void> {
  const lines = said.split('\n');
  const from = lines.findIndex(line => line.includes(words)) + 1;
  const end = lines.findIndex((line, at) => at >= from && !line.startsWith('  '));
  const script = lines.slice(from, end).join('\n');
  const env = { ...identity, HOME: clone.folder };
  const typed = await run('bash', ['-ec', script], { cwd: clone.folder, env });
  if (typed.code !== 0 || script === '') throw new Error(`${script}: ${typed.code}\n${typed.stderr}`);
}

const { clone, limit, server } = await openLimited(t, ['five/a', 'last/a', 'lfs/a', 'push/a']);

/** A working copy with a first commit on the server, under the limit. */
async function begun(owner: string) {
  const work = await clone(`${owner}/a`);
  await commit(work, { begin: 'begin' });
  await work.git('push', '-q', 'origin', 'main');
  await limit(owner, 'file', fileLimit);
  return work;
}

/** The first words of a refusal, for a file of so many bytes. */
const words = (name: string, bytes: number) =>
  `${name} has ${formatBytes(bytes)}; a file may have ${formatBytes(fileLimit)}.\n`;

t.test('a large file in the third of five commits is named, and the advice makes the push pass', async t => {
  const work = await begun('five');
  const bytes = 1.01 * fileLimit;
  for (const at of [1, 2, 3, 4, 5])
    await commit(work, {
      [`file-${at}.txt`]: `${at}`,
      ...(at === 3 ? { "assets/my 'video'.bin": randomBytes(bytes) } : {}),
    });
  const { code, said } = await work.push();
  t.equal(code, 1);
  t.match(said, words("assets/my 'video'.bin", bytes));
  t.match(said, 'Decided by rule "five-file" of group "five".');
  t.notMatch(said, /garbage collection/);
  await follow(work, said, 'out of your commits');
  t.match(await work.push(), { code: 0 });
  t.equal(await work.git('rev-list', '--count', 'origin/main'), '6', 'all is pushed');
});

t.test('a file of the last commit is taken out of it, and stays in the working copy', async t => {
  const work = await begun('last');
  const bytes = 1.4 * fileLimit;
  await commit(work, { 'last.txt': text(bytes) });
  const { code, said } = await work.push();
  t.equal(code, 1);
  t.match(said, words('last.txt', bytes), 'however little it packs to');
  await follow(work, said, 'out of your last commit');
  t.match(await work.push(), { code: 0 });
  t.equal((await readFile(join(work.folder, 'last.txt'))).length, bytes);
});

t.test('a large file goes into git LFS by the line of the advice', async t => {
  const work = await begun('lfs');
  // Without a server for LFS the objects go to a folder.
  await work.git('remote', 'set-url', 'origin', `file://${server.path('lfs/a')}`);
  await work.git('fetch', '-q', 'origin');
  await work.git('lfs', 'install', '--local');
  await commit(work, { 'assets/video.bin': text(1.2 * fileLimit) });
  const { code, said } = await work.push();
  t.equal(code, 1);
  await follow(work, said, 'git LFS');
  t.match(await work.push(), { code: 0 });
});

const limitBytes = 1_000_000;
const passes = { code: 0, said: '' };

t.test('what a push brings', async t => {
  await limit('push', 'push', limitBytes);
  const work = await clone('push/a');
  for (const name of ['first', 'second']) await work.commit({ [name]: 600_000 });
  const said = /^This push brings 1\.2 MB; a push may bring 1 MB\./;
  t.match(await work.push(), { code: 1, said });
  t.match(await work.push(['HEAD~1:refs/heads/main']), passes, 'the oldest commits first');
  t.match(await work.push(), passes);
});

t.test('without a worker a refusal names the object', async t => {
  const { clone, limit } = await openLimited(t, ['plain/a'], { hasWorker: false });
  const work = await clone('plain/a');
  await commit(work, { begin: 'begin' });
  await work.push();
  await limit('plain', 'file', fileLimit);
  await commit(work, { 'large.txt': text(1.2 * fileLimit) });
  const { code, said } = await work.push();
  t.equal(code, 1);
  const object = await work.git('rev-parse', 'HEAD:large.txt');
  t.match(said, words(`The file with the object id ${object}`, 1.2 * fileLimit));
  const [, line = ''] = /^ +(git rev-list .*)$/m.exec(said) ?? [];
  const typed = await run('bash', ['-c', line], { cwd: work.folder });
  t.match(typed.stdout, 'large.txt');
});
