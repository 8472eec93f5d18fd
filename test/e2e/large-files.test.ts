/**
 * The limits of a file, of a push and of a group, with the daemon, the worker, the hooks, git and a real
 * sshd; in the long run with the sizes that hosts have.
 */

import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import type { RuleScope } from '../../src/quota/index.ts';
import { formatBytes } from '../../src/text.ts';
import { isLong } from '../run-length.ts';
import { Clone } from './clone.ts';
import { identity, must, run } from './run.ts';
import { Server } from './server.ts';
import { transports } from './transports.ts';
import { withWorker } from './with-worker.ts';

t.setTimeout(isLong ? 1_800_000 : 240_000);

/** The limit of a file: in the long run that of GitHub, else small enough to be quick. */
const fileLimit = isLong ? 100_000_000 : 1_000_000;
/** Number of small files that a push brings. */
const many = isLong ? 100_000 : 3000;

/** Starts a server with repositories that are reached over ssh; `limit` gives owners a group of their own. */
async function openLimited(t: Test, repositories: readonly string[], { hasWorker = true } = {}) {
  const server = await Server.open(t, { ini: { 'quota.default': { TOTAL: '-1' } }, repositories });
  if (hasWorker) await withWorker(t, server);
  const ssh = await transports.ssh(t, server);
  return {
    server,
    clone: (name: string) => Clone.of(server, ssh.url(server.path(name)), { env: ssh.env }),
    limit: async (owners: readonly string[], limits: Readonly<Partial<Record<RuleScope, number>>>) => {
      const name = owners.join('-');
      const rules = Object.entries(limits).map(([per, limit]) => ({
        name: `${name}-${per}`,
        limit,
        per,
        subjects: ['size:repos:all'],
      }));
      await server.admin('/admin/quota/groups', { body: { name, rules } });
      for (const owner of owners)
        await server.admin(`/admin/quota/groups/${name}/users/${owner}`, { method: 'PUT' });
    },
  };
}

/** A text with numbered lines, which packs to a fiftieth or so. */
function text(bytes: number): string {
  const lines: string[] = [];
  for (let length = 0, at = 0; length < bytes; at++) {
    const line = `${at >> 4} the quick brown fox jumps over the lazy dog, again and again, until it is late\n`;
    lines.push(line);
    length += line.length;
  }
  return lines.join('').slice(0, bytes);
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

/** Commits many small files, and others beside them, to a branch of their own. */
async function commitMany(
  clone: Clone,
  branch: string,
  others: Readonly<Record<string, string | Buffer>> = {},
): Promise<void> {
  const small = Array.from(
    { length: many },
    (_, at) => [`many/${at % 256}/${at}`, `${branch} ${at}`] as const,
  );
  const files = [...small, ...Object.entries(others)].flatMap(([name, content]) => [
    Buffer.from(`M 100644 inline ${name}\ndata ${Buffer.byteLength(content)}\n`),
    Buffer.from(content),
    Buffer.from('\n'),
  ]);
  const who = 'Somebody <somebody@git.example> 1700000000 +0000';
  const head = Buffer.from(`commit refs/heads/${branch}\ncommitter ${who}\ndata 4\nmany\n`);
  const input = Buffer.concat([head, ...files]);
  await must('git', ['fast-import', '--quiet'], { cwd: clone.folder, input });
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

const owners = ['five', 'history', 'lfs', 'changed', 'pool', 'member', 'push', 'many'];
const { clone, limit, server } = await openLimited(
  t,
  owners.map(owner => `${owner}/a`),
);

/** A working copy with a first commit on the server, under the limit unless it has to begin large. */
async function begun(owner: string, first: Readonly<Record<string, string>> = { begin: 'begin' }) {
  const work = await clone(`${owner}/a`);
  await commit(work, first);
  const { code, stderr } = await work.push();
  if (code !== 0) throw new Error(stderr);
  await limit([owner], { file: fileLimit });
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

t.test('a file is taken out of the history, and one of the last commit out of it', async t => {
  const work = await begun('history');
  await commit(work, { 'large.txt': text(1.2 * fileLimit) });
  await commit(work, { 'large.txt': `${text(1.2 * fileLimit)}more` });
  await commit(work, { 'other.txt': 'other' });
  const first = await work.push();
  t.match(first, { code: 1 });
  t.match(first.said, words('large.txt', 1.2 * fileLimit));
  t.match(first.said, 'git filter-repo');
  await follow(work, first.said, 'out of your commits');
  t.match(await work.push(), { code: 0 });
  // It packs to a fiftieth.
  const bytes = 1.4 * fileLimit;
  await commit(work, { 'last.txt': text(bytes) });
  const second = await work.push();
  t.match(second, { code: 1 });
  t.match(second.said, words('last.txt', bytes));
  await follow(work, second.said, 'out of your last commit');
  t.match(await work.push(), { code: 0 });
  t.equal((await readFile(join(work.folder, 'last.txt'))).length, bytes, 'it stays in the working copy');
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

t.test('what was large before stays, and each change of it is refused, however git packs it', async t => {
  const bytes = 1.2 * fileLimit;
  const old = text(bytes);
  const work = await begun('changed', { 'old.txt': old });
  await commit(work, { 'new.txt': 'new' });
  t.match(await work.push(), { code: 0 }, 'a change beside it');
  await work.git('checkout', '-q', '-b', 'changed');
  await commit(work, { 'old.txt': old.replace('quick', 'Quick') });
  const refused = async (args: readonly string[], sent: RegExp, what: string) => {
    const { code, said, stderr } = await work.push(['--progress', ...args, 'changed']);
    t.equal(code, 1, what);
    t.match(said, words('old.txt', bytes), what);
    t.match(stderr, sent, what);
  };
  const asDelta = /Writing objects: 100%.* (?:\d{3} bytes|\d\.\d+ KiB) /;
  const whole = /Writing objects: 100%.* \d+\.\d+ [KM]iB /;
  await refused(['--thin'], asDelta, 'a thin pack, unpacked');
  const unpackLimit = ['-C', server.path('changed/a'), 'config', 'receive.unpackLimit', '1'];
  await must('git', unpackLimit);
  await refused(['--thin'], asDelta, 'a thin pack, completed');
  await refused(['--no-thin'], whole, 'a pack');
  t.match(await work.push(['--force', 'main~1:main']), { code: 0 }, 'a smaller history');
});

const limitBytes = 1_000_000;
const passes = { code: 0, said: '' };

t.test('what the members of a group store together', async t => {
  await limit(['pool', 'member'], { group: limitBytes });
  const works = { pool: await clone('pool/a'), member: await clone('member/a') };
  const push = async (owner: keyof typeof works, bytes: number) => {
    await works[owner].commit(bytes);
    return works[owner].push();
  };
  t.match(await push('pool', 500_000), passes);
  t.match(await push('member', 600_000), passes);
  await server.usageIs('member', bytes => bytes > 600_000);
  const said =
    /^The group pool-member's repositories have 1\.\d+ MB of 1 MB, of which you have 5\d\d kB\.\nDecided by rule/;
  t.match(await push('pool', 1000), { code: 1, said });
});

t.test('what a push brings', async t => {
  await limit(['push'], { push: limitBytes });
  const work = await clone('push/a');
  for (const name of ['first', 'second']) await work.commit({ [name]: 600_000 });
  const said = /^This push brings 1\.2 MB; a push may bring 1 MB\./;
  t.match(await work.push(), { code: 1, said });
  t.match(await work.push(['HEAD~1:refs/heads/main']), passes, 'the oldest commits first');
  t.match(await work.push(), passes);
});

t.test('many objects pass, and a large file among them is named', async t => {
  const work = await begun('many');
  await commitMany(work, 'small');
  t.match(await work.push(['small']), passes);
  await commitMany(work, 'large', { 'a large file': text(1.4 * fileLimit) });
  const { code, said } = await work.push(['large']);
  t.equal(code, 1);
  t.match(said, words('a large file', 1.4 * fileLimit));
});

t.test('without a worker a refusal names the object', async t => {
  const { clone, limit } = await openLimited(t, ['plain/a'], { hasWorker: false });
  const work = await clone('plain/a');
  await commit(work, { begin: 'begin' });
  await work.push();
  await limit(['plain'], { file: fileLimit });
  await commit(work, { 'large.txt': text(1.2 * fileLimit) });
  const { code, said } = await work.push();
  t.equal(code, 1);
  const object = await work.git('rev-parse', 'HEAD:large.txt');
  t.match(said, words(`The file with the object id ${object}`, 1.2 * fileLimit));
  const [, line = ''] = /^ +(git rev-list .*)$/m.exec(said) ?? [];
  const typed = await run('bash', ['-c', line], { cwd: work.folder });
  t.match(typed.stdout, 'large.txt');
});
