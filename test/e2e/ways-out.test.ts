/**
 * The ways to make a repository smaller that manuals publish, each done by an owner over the limit, over ssh.
 *
 * They are from the manuals of git-filter-repo and of git itself, and from what GitHub, GitLab and Bitbucket
 * advise to those whose repositories are too large; one stands for those that push the same. BFG is not among
 * them, because no package has it; it rewrites as `filter-repo --strip-blobs-bigger-than` does, and is pushed
 * in the same way. Where a manual pushes the branches first and the tags behind them, they are pushed
 * together: the first push alone would make nothing smaller, which is what it is told. The ordinary run has
 * every sixth of them, and all of our own page.
 */

import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { noise } from '../noise.ts';
import { some } from '../run-length.ts';
import { must, run } from './run.ts';
import { Server } from './server.ts';
import { transports } from './transports.ts';
import { withWorker } from './with-worker.ts';

t.setTimeout(600_000);

interface Way {
  readonly name: string;
  /** A shell script in a clone with all branches and tags, that ends with a push to `origin`. */
  readonly script: string;
}

const forced = "git push --force origin 'refs/heads/*:refs/heads/*' 'refs/tags/*:refs/tags/*'";
/** filter-repo takes the remote away, so that nobody pushes by accident. */
const after = `git remote add origin "$URL" && ${forced}`;
const filterBranch = 'FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f';

const ways: readonly Way[] = [
  {
    name: 'git filter-repo --path --invert-paths (GitHub: removing sensitive data)',
    script: `git filter-repo --force --path large.bin --invert-paths && ${after}`,
  },
  {
    name: 'git filter-repo --strip-blobs-bigger-than, pushed as a mirror (GitLab: repository size)',
    script:
      'git filter-repo --force --strip-blobs-bigger-than 100K && git remote add origin "$URL" && git push --mirror --force origin',
  },
  {
    name: 'git filter-repo --strip-blobs-with-ids',
    script: `git rev-parse HEAD~1:large.bin >../ids-$$ && git filter-repo --force --strip-blobs-with-ids ../ids-$$ && ${after}`,
  },
  {
    name: 'git filter-branch --index-filter (Bitbucket: reduce repository size)',
    script: `${filterBranch} --index-filter 'git rm -q --cached --ignore-unmatch large.bin' --tag-name-filter cat -- --all && git for-each-ref --format='delete %(refname)' refs/original | git update-ref --stdin && ${forced}`,
  },
  {
    name: 'git rebase --interactive, the commit dropped (git-rebase)',
    script:
      'GIT_SEQUENCE_EDITOR="sed -i \'/large/d\'" git rebase -i HEAD~3 && git push --force origin main :topic :v1',
  },
  {
    name: 'git rebase --interactive, commits squashed into one that removes the file',
    script:
      "git rm -q large.bin && git commit -q -m 'no large.bin' && GIT_SEQUENCE_EDITOR=\"sed -i '2,\\$s/^pick/fixup/'\" git rebase -i HEAD~4 && git push --force-with-lease=main origin main :topic :v1",
  },
  {
    name: 'git rebase --onto',
    script: 'git rebase -q --onto HEAD~2 HEAD~1 && git push --force origin main :topic :v1',
  },
  {
    name: 'git commit --amend without the file (GitHub: a file of the most recent commit)',
    script:
      'git checkout -q topic && git rm -q --cached other.bin && git commit -q --amend --allow-empty -m other && git push --force origin topic',
  },
  {
    name: 'git reset --hard to an older commit, a roll-back (Bitbucket)',
    script: 'git reset -q --hard HEAD~2 && git push --force origin main && git push origin --delete topic v1',
  },
  {
    name: 'git merge --squash onto what was before',
    script:
      'git branch old && git reset -q --hard HEAD~2 && git merge -q --squash old && git rm -q -f large.bin && git commit -q -m squashed && git push --force origin main :topic :v1',
  },
  {
    name: 'an orphan branch that begins anew with the present state',
    script:
      'git rm -q large.bin && git checkout -q --orphan fresh && git commit -q -m fresh && git push --force origin fresh:main :topic :v1',
  },
  {
    name: 'git fast-export and fast-import without the file',
    script:
      'git init -q ../fresh-$$ && git fast-export main -- keep small last | git -C ../fresh-$$ fast-import --quiet && git -C ../fresh-$$ push --force "$URL" main :topic :v1',
  },
  {
    name: 'git replace --graft and filter-repo, a shorter history',
    script: `git tag -d v1 && git branch -q -D topic && git replace --graft HEAD && git rm -q large.bin && git commit -q -m gone && git filter-repo --force --path large.bin --invert-paths && git remote add origin "$URL" && git push --force --prune origin 'refs/heads/*:refs/heads/*' 'refs/tags/*:refs/tags/*'`,
  },
  {
    name: 'git subtree split',
    script:
      'git subtree split -q -P keep -b split >/dev/null && git push --force origin split:main :topic :v1',
  },
  {
    name: 'git lfs migrate import (GitHub, GitLab: move large files to LFS)',
    script: `git lfs migrate import --yes --everything --include='*.bin' >/dev/null && git push --no-verify --force origin 'refs/heads/*:refs/heads/*' 'refs/tags/*:refs/tags/*'`,
  },
  {
    name: 'git push --delete of branches and tags',
    script: 'git push origin --delete topic && git push origin --delete v1',
  },
];

/**
 * The shell blocks of the page for those who are refused, each by the heading and the line that it stands
 * under.
 */
async function waysInGuide(): Promise<readonly Way[]> {
  const page = await readFile(new URL('../../docs/refused.md', import.meta.url), 'utf8');
  const found = [...page.matchAll(/([^\n]+)\n\n```sh\n([\s\S]*?)```/g)];
  return found.map(([, above = '', script = '']) => ({ name: `docs/refused.md: ${above}`, script }));
}

/**
 * A bare repository with a large file in the middle of its history, a branch and a tag; alice is over her
 * limit.
 */
async function prepare(server: Server): Promise<string> {
  const seed = join(server.folder, 'seed');
  const git = (...args: readonly string[]) => must('git', ['-C', seed, ...args]);
  const commit = async (files: Readonly<Record<string, number>>, message: string) => {
    for (const [name, bytes] of Object.entries(files)) await writeFile(join(seed, name), noise(name, bytes));
    await git('add', '.');
    await git('commit', '-q', '-m', message);
  };
  await must('git', ['init', '-q', '-b', 'main', seed]);
  await mkdir(join(seed, 'keep'));
  await commit({ small: 2000, 'keep/a': 1000 }, 'first');
  await commit({ 'keep/b': 1000 }, 'second');
  await commit({ 'large.bin': 400_000, beside: 100 }, 'large');
  await commit({ last: 1000 }, 'last');
  await git('tag', '-a', '-m', 'a release', 'v1');
  await git('checkout', '-q', '-b', 'topic');
  await commit({ 'other.bin': 150_000 }, 'other');
  await git('checkout', '-q', 'main');
  const bare = join(server.folder, 'seed.git');
  await must('git', ['clone', '-q', '--bare', seed, bare]);
  await must('git', ['-C', bare, 'remote', 'remove', 'origin']);
  return bare;
}

function reachable(bare: string): Promise<string> {
  return must('git', ['-C', bare, 'rev-list', '--all', '--objects', '--disk-usage']);
}

t.test('every published way to make a repository smaller passes over the limit', async t => {
  const server = await Server.open(t, { started: false, ini: { 'quota.default': { TOTAL: '300k' } } });
  const seed = await prepare(server);
  const guide = await waysInGuide();
  t.equal(guide.length, 5);
  const all = [...some(ways, 6), ...guide];
  const at = (index: number) => join(server.folder, 'git/alice', `way-${index}.git`);
  await mkdir(join(server.folder, 'git/alice'), { recursive: true });
  for (const index of all.keys()) await cp(seed, at(index), { recursive: true });
  await server.installHooks();
  await server.start();
  await withWorker(t, server, { run: 'measure' });
  const ssh = await transports.ssh(t, server);
  const home = join(server.folder, 'home');
  await mkdir(home);

  for (const [index, { name, script }] of all.entries()) {
    await t.test(name, async t => {
      const clone = join(server.folder, `clone-${index}`);
      const url = ssh.url(at(index));
      const env = { ...ssh.env, URL: url, HOME: home, GIT_CONFIG_GLOBAL: join(home, '.gitconfig') };
      await must('git', ['clone', '-q', url, clone], { env });
      await must('git', ['branch', '-q', 'topic', 'origin/topic'], { cwd: clone, env });
      const before = Number(await reachable(at(index)));

      await writeFile(join(clone, 'small'), 'more');
      await must('git', ['commit', '-q', '-a', '-m', 'more'], { cwd: clone, env });
      const more = await run('git', ['push', 'origin', 'main'], { cwd: clone, env });
      t.equal(more.code, 1, 'what grows is refused');
      await must('git', ['reset', '-q', '--hard', 'HEAD~1'], { cwd: clone, env });

      const { code, stdout, stderr } = await run('sh', ['-ec', script], { cwd: clone, env });
      t.equal(code, 0, `${stdout}${stderr}`);
      t.notMatch(stderr, 'Quota exceeded');
      const left = Number(await reachable(at(index)));
      t.ok(left < before, `${before} bytes became ${left}`);
      await must('git', ['-C', at(index), 'fsck', '--strict']);
    });
  }
});
