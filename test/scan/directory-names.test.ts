import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { resolveLayout } from '../../src/layout/index.ts';
import { existingNames, locateByMounts } from '../../src/scan/directory-names.ts';
import { bareRepository, fill, storage, temporary } from './world.ts';

t.test('refs exist as files, as directories, and packed, also those below a name', async t => {
  const unit = join(temporary(t), 'a.git');
  bareRepository(unit);
  fill(join(unit, 'refs/heads/x/HEAD'), 41);
  writeFileSync(
    join(unit, 'packed-refs'),
    `# pack-refs with: peeled\n${'1'.repeat(40)} refs/heads/x/objects/a\n^${'2'.repeat(40)}\n`,
  );
  symlinkSync('/etc', join(unit, 'refs/heads/link'));
  const asked = [
    'refs/heads/x/HEAD',
    'refs/heads/x/objects',
    'refs/heads/x/objects/a',
    'refs/heads/x/objects/a/b',
    'refs/heads/x/refs',
    'refs/heads/x/HEAD/y',
    'refs/heads/link/passwd',
    'HEAD',
    '../a.git/HEAD',
    '/etc/passwd',
    `refs/${'y'.repeat(300)}`,
  ];
  t.same(existingNames(unit, asked), [
    'refs/heads/x/HEAD',
    'refs/heads/x/objects',
    'refs/heads/x/objects/a',
    'refs/heads/link/passwd',
    'HEAD',
  ]);
  t.same(existingNames(join(unit, 'nowhere'), asked), []);
});

t.test('a linked worktree is in the unit of its repository', async t => {
  const root = temporary(t);
  const unit = join(root, 'git/alice/a.git');
  bareRepository(unit);
  const layout = resolveLayout([storage('repos', `${root}/git/{owner}/{repo}.git`)], []);
  fill(join(root, 'worktree/x'), 1);
  const worktree = join(root, 'worktree');
  t.match(locateByMounts(layout, worktree), { found: 'none' });
  writeFileSync(join(worktree, 'commondir'), '../git/alice/a.git\n');
  t.match(locateByMounts(layout, worktree), { found: 'unit', unit: { path: unit } });
  execFileSync('mkfifo', [join(root, 'git/commondir')]);
  t.match(locateByMounts(layout, join(root, 'git')), { found: 'none' }, 'a pipe keeps nobody waiting');
});
