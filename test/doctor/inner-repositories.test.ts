/** Folders inside of repositories that git takes for repositories, and so pushes to without any hook. */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { checkInnerRepositories } from '../../src/doctor/repositories.ts';
import { folderFor, git, repositoryAt, write } from './folder.ts';

const context = { uid: 0, configOption: null, hookConf: '/nowhere' };

t.test('refs that make a folder a repository are found, and go as doctor says', async t => {
  const path = join(folderFor(t), 'app.git');
  git('init', '-q', '--bare', path);
  const tree = git('-C', path, 'hash-object', '-w', '-t', 'tree', '/dev/null');
  const who = ['-c', 'user.name=x', '-c', 'user.email=x@localhost'];
  const commit = git('-C', path, ...who, 'commit-tree', '-m', 'x', tree);
  for (const name of ['HEAD', 'objects/a', 'refs/a'])
    git('-C', path, 'update-ref', `refs/heads/x/${name}`, commit);
  const look = () => checkInnerRepositories(context, [{ path, user: { uid: 0, gid: 0 } }]).findings;
  const findings = look();
  t.match(findings, [{ code: 'inner_repository', message: new RegExp(`^${path}/refs/heads/x: `) }]);
  execFileSync('sh', ['-c', `${findings[0]?.mend}`]);
  t.strictSame(look(), []);
});

t.test('a submodule repository without the hooks is found, and one with them is well', async t => {
  const path = repositoryAt(join(folderFor(t), 'app.git'));
  const inner = repositoryAt(join(path, 'modules/lib'));
  const look = () => checkInnerRepositories(context, [{ path, user: { uid: 0, gid: 0 } }]).findings;
  t.match(look(), [{ code: 'inner_repository', mend: `softquota hooks install ${path}` }]);
  write(join(inner, 'hooks/pre-receive'), '#!/bin/sh\n');
  t.strictSame(look(), []);
});
