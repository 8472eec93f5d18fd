/** A disk that does not answer keeps no command waiting for ever, and nothing that lies elsewhere undone. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { until } from '../e2e/ask.ts';
import { launcher } from '../e2e/daemon.ts';
import { must, type Run, run } from '../e2e/run.ts';
import { hangingDisk } from '../scan/hanging.ts';

t.setTimeout(600_000);
// They wait, and for different disks.
t.jobs = 5;

/** A server's folder, whose repositories lie in `git`. */
function folderOf(t: Test) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sq-')));
  const git = join(folder, 'git');
  mkdirSync(git);
  t.teardown(() => must('rm', ['-rf', '--one-file-system', folder]));
  return { folder, git };
}

const bare = (path: string) => must('git', ['init', '-q', '--bare', '-b', 'main', path]);

/** Makes a disk that hangs at `git/bob` and one that answers, with repositories on both. */
async function world(t: Test) {
  const { folder, git } = folderOf(t);
  const disk = await hangingDisk(t, join(git, 'bob'));
  t.teardown(() => disk.answer());
  for (const path of [
    join(git, 'alice/app.git'),
    join(git, 'carol/tool.git'),
    join(disk.behind, 'lib.git'),
  ]) {
    await bare(path);
  }
  renameSync(disk.behind, join(folder, 'behind'));
  return { folder, git, disk };
}

/** Killed after long enough, so that a command which never ends fails the test. */
function softquota(args: readonly string[], cwd: string): Promise<Run> {
  const env = { SOFTQUOTA__SERVER__DATA_PATH: join(cwd, 'data') };
  return run('timeout', ['-s', 'KILL', '150', process.execPath, launcher, ...args], { cwd, env });
}

const hooksIn = (repository: string): string[] =>
  readdirSync(join(repository, 'hooks')).filter(name => !name.endsWith('.sample'));

t.test(
  'hooks are installed, shown and removed beside a disk that does not answer',
  { buffered: true },
  async t => {
    const { folder, git, disk } = await world(t);
    disk.hang();
    for (const [act, words, left] of [
      ['install', 'pre-receive installed', ['post-receive', 'pre-receive']],
      ['status', 'asks at', ['post-receive', 'pre-receive']],
      ['remove', 'pre-receive removed', []],
    ] as const) {
      const { code, stdout, stderr } = await softquota(['hooks', act, git], folder);
      t.equal(code, 69, `${act}: ${stdout}${stderr}`);
      for (const name of ['alice/app.git', 'carol/tool.git']) {
        const line = stdout.split('\n').find(each => each.startsWith(join(git, name)));
        t.match(line, words, act);
        t.strictSame(hooksIn(join(git, name)).sort(), left);
      }
      t.match(stderr, `the disk at ${disk.path} does not answer`);
      t.match(stderr, `findmnt --mountpoint ${disk.path}`);
    }
  },
);

t.test(
  'a repository of which a part does not answer is told alone, and others are done',
  { buffered: true },
  async t => {
    const { folder, git } = folderOf(t);
    const half = join(git, 'alice/half.git');
    for (const name of ['alice/first.git', 'alice/half.git', 'bob/last.git']) await bare(join(git, name));
    await must('rm', ['-r', join(half, 'hooks')]);
    const disk = await hangingDisk(t, join(half, 'hooks'));
    t.teardown(() => disk.answer());
    disk.hang();
    const { code, stdout, stderr } = await softquota(['hooks', 'install', '--json', git], folder);
    t.equal(code, 69, stderr);
    t.match(stderr, `the disk at ${disk.path} does not answer`);
    const { repositories } = JSON.parse(stdout);
    t.match(repositories, [
      { repository: join(git, 'alice/first.git'), hooks: { 'pre-receive': { did: 'installed' } } },
      { repository: half, fault: 'the disk does not answer' },
      { repository: join(git, 'bob/last.git'), hooks: { 'pre-receive': { did: 'installed' } } },
    ]);
    t.strictSame(hooksIn(join(git, 'bob/last.git')).sort(), ['post-receive', 'pre-receive']);
  },
);

t.test(
  'a link to a disk that does not answer is not taken for the disk it lies on',
  { buffered: true },
  async t => {
    const { folder, git, disk } = await world(t);
    const link = join(folder, 'link');
    symlinkSync(disk.path, link);
    disk.hang();
    const { code, stdout, stderr } = await softquota(
      ['hooks', 'status', '--json', link, join(git, 'alice')],
      folder,
    );
    t.equal(code, 69, stderr);
    t.match(stderr, `the disk at ${disk.path} does not answer`);
    t.match(JSON.parse(stdout).repositories, [{ repository: join(git, 'alice/app.git') }]);
  },
);

t.test('where nothing else is named the command says what hangs, and ends', { buffered: true }, async t => {
  const { folder, disk } = await world(t);
  disk.hang();
  for (const args of [
    ['hooks', 'install', disk.path],
    ['init', disk.path],
  ]) {
    const { code, stdout, stderr } = await softquota(args, folder);
    t.equal(code, 69, `${args.join(' ')}: ${stdout}${stderr}`);
    t.match(stderr, `the disk at ${disk.path} does not answer`);
    if (args.includes('install')) t.match(stderr, `softquota: ${disk.path}: the disk does not answer`);
    t.equal(stdout, '');
  }
  t.notOk(readdirSync(folder).includes('app.ini'));
});

t.test('init writes a configuration beside a disk that does not answer', { buffered: true }, async t => {
  const { folder, git, disk } = await world(t);
  disk.hang();
  const { code, stdout, stderr } = await softquota(['init', git, '--json'], folder);
  t.equal(code, 69, `${stdout}${stderr}`);
  t.match(stderr, `the disk at ${disk.path} does not answer`);
  const report = JSON.parse(stdout);
  t.match(report, { layout: 'owners', repositories: 2, scan: { state: 'done' } });
  t.match(readFileSync(join(folder, 'app.ini'), 'utf8'), `${git}/{owner}/{repo}.git`);
});

t.test('whoever ends the command ends the process that does its work', { buffered: true }, async t => {
  const { folder, git, disk } = await world(t);
  disk.hang();
  const env = { ...process.env, SOFTQUOTA__SERVER__DATA_PATH: join(folder, 'data') };
  const command = spawn(process.execPath, [launcher, 'hooks', 'install', git], { env, stdio: 'ignore' });
  const ended = once(command, 'exit');
  const children = `/proc/${command.pid}/task/${command.pid}/children`;
  const worker = await until(() => readFileSync(children, 'utf8').trim() || null);
  command.kill('SIGTERM');
  t.strictSame(await ended, [null, 'SIGTERM']);
  await until(() => (existsSync(`/proc/${worker}`) ? null : true));
  t.strictSame(hooksIn(join(git, 'carol/tool.git')), []);
});
