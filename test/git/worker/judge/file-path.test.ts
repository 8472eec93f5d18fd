/** The names of files that a push may not bring, and the lines that take them out. */

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { findGits } from '../../../../src/git/index.ts';
import { filePath } from '../../../../src/git/worker/judge/file-path.ts';
import { decodePath, encodePath } from '../../../../src/layout/index.ts';
import { must, run } from '../../../e2e/run.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

const { gits } = await findGits(['git']);

/** A clone, and a bare repository to which it brings its commits. */
async function open(t: Test) {
  const folder = temporaryFolder(t);
  const work = join(folder, 'work');
  const bare = join(folder, 'bare.git');
  await must('git', ['init', '-q', '--bare', bare]);
  await must('git', ['init', '-q', '-b', 'main', work]);
  const git = (...args: readonly string[]) => must('git', args, { cwd: work });
  const commit = async (name: string, content: string) => {
    await mkdir(dirname(join(work, name)), { recursive: true });
    await writeFile(encodePath(join(work, name)), content);
    await git('add', '--all');
    await git('commit', '-q', '-m', 'a change');
  };
  /** The answer for the content that `main` brings. */
  const find = async (content: string) => {
    await must('git', ['-C', bare, 'fetch', '-q', work, 'main']);
    const object = await must('git', ['hash-object', '--stdin'], { cwd: work, input: content });
    const tip = await git('rev-parse', 'main');
    const push = { path: bare, objects: join(bare, 'objects'), quarantine: null, hidden: [], object };
    const lines = `${'0'.repeat(tip.length)} ${tip} refs/heads/main\n`;
    const limits = { timeoutMs: 20_000, signal: new AbortController().signal };
    const [program] = gits;
    if (program === undefined) throw new Error('there is no git');
    return filePath({ ...push, lines }, program, limits);
  };
  const type = async (lines: readonly string[], cwd = work) => {
    const env = { HOME: folder, GIT_SEQUENCE_EDITOR: 'true' };
    const { code, stderr } = await run('bash', ['-ec', lines.join('\n')], { cwd, env });
    if (code !== 0) throw new Error(`${lines}\n${stderr}`);
  };
  const names = async () => {
    const listed = ['ls-tree', '-rz', '--name-only', 'HEAD'];
    const { stdout } = await run('git', listed, { cwd: work, encoding: 'latin1' });
    return decodePath(Buffer.from(stdout, 'latin1')).split('\0').filter(Boolean);
  };
  return { work, commit, find, type, names };
}

const odd = [
  'plain.bin',
  'a folder/"quoted" \\ it\'s.bin',
  'line\nfeed.bin',
  'line\nfeed/in\nfolder.bin',
  'star*.bin',
  '[set].bin',
  ':magic.bin',
  '_site/video.bin',
  '-dash.bin',
  '!not.bin',
  'caf\u00e9.bin',
  decodePath(Buffer.from([0x63, 0xe9, 0x2e, 0x62])),
];

t.test('whatever a file is called, the lines take it out of the last commit, and no other', async t => {
  const { work, commit, find, type, names } = await open(t);
  await commit('begin', 'begin');
  await commit('star-not.bin', 'beside');
  await mkdir(join(work, 'sub'));
  const before = await names();
  for (const name of odd) {
    await commit(name, `the content of ${name}`);
    const { path, commands } = await find(`the content of ${name}`);
    t.equal(path, name);
    const [first] = commands;
    t.match(first, { what: /out of your last commit/ });
    await type(first?.lines ?? [], join(work, 'sub'));
    t.same(await names(), before, JSON.stringify(name));
    await type(['git reset -q --hard', 'git clean -fdq -e sub']);
  }
});

t.test('the lines take a file out of the history, of one version and of several', async t => {
  const { commit, find, type, names } = await open(t);
  await commit('begin', 'begin');
  const before = [...(await names()), 'behind'];
  for (const [at, name] of ["it's a\nnew.bin", 'star*.bin'].entries()) {
    for (const versions of [['large'], ['small', 'large', 'larger']]) {
      for (const each of versions) await commit(name, `${each} ${at}`);
      await commit('behind', `${versions} ${at}`);
      const { path, commands } = await find(`large ${at}`);
      t.equal(path, name);
      t.match(commands[0], { what: /out of your commits/ });
      await type(commands[0]?.lines ?? []);
      t.same(await names(), before, JSON.stringify(name));
      await type(['git clean -fdq', 'git reset -q --hard $(git rev-list --max-parents=0 HEAD)']);
    }
  }
  const latin = decodePath(Buffer.from([0xe9]));
  await commit(latin, 'of Latin-1');
  await commit('behind', 'the last commit');
  t.match(await find('of Latin-1'), { path: latin, commands: [] }, 'no program there takes such a name');
});
