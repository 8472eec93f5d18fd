import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { existingNames, repositoriesAt } from '../../src/scan/directory-names.ts';
import { bareRepository, fill, temporary } from './world.ts';

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

t.test('a repository is known by its directory, under any path and from a linked worktree', async t => {
  const root = temporary(t);
  const unit = join(root, 'a.git');
  bareRepository(unit);
  symlinkSync(root, join(root, 'link'));
  fill(join(unit, 'worktrees/w/x'), 1);
  writeFileSync(join(unit, 'worktrees/w/commondir'), '../..\n');
  const [one, other, worktree, nothing] = repositoriesAt([
    unit,
    join(root, 'link/a.git'),
    join(unit, 'worktrees/w'),
    join(root, 'b.git'),
  ]);
  t.equal(one?.path, unit);
  t.same([other, worktree, nothing], [one, one, null]);
  execFileSync('mkfifo', [join(unit, 'commondir')]);
  t.same(repositoriesAt([unit]), [one], 'a pipe keeps nobody waiting');
});
