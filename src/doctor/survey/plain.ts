/**
 * Bare repositories as an administrator makes them, in directories of owners or all in one, and gitolite's.
 */

import { dirname, join, relative } from 'node:path';
import type { OwnerSource } from '../../layout/index.ts';
import { counted } from '../../text/index.ts';
import { isDirectory, physical } from '../paths.ts';
import { byDirectory, everythingOf, type Proposal, type Recognised, section } from './recognised.ts';

/** Directories that hold repositories and are nobody's name. */
const containers = ['repositories', 'repos', 'git', 'git-data'];

/** `repositories` are physical, and below `base`, which is where `root` really is. */
export function plain(
  root: string,
  base: string,
  repositories: readonly string[],
  owner: string,
): Recognised {
  const [first = ''] = relative(base, repositories[0] ?? base).split('/');
  if (containers.includes(first) && repositories.every(path => path.startsWith(`${base}/${first}/`))) {
    return plain(join(root, first), join(base, first), repositories, owner);
  }
  const suffix = repositories.every(path => path.endsWith('.git')) ? '.git' : '';
  const inFolders = repositories.filter(path => dirname(path) !== base).length;
  const flat = inFolders * 2 < repositories.length;
  // Without a suffix a repository could be named lfs itself.
  const hasLfs = suffix !== '' && repositories.some(path => isDirectory(join(path, 'lfs')));
  const storages = (template: string, source?: OwnerSource): Proposal['storages'] => [
    section('repos', [template], source),
    ...(hasLfs ? [section('lfs', [`${template}/lfs`], source)] : []),
  ];
  return {
    layout: flat ? 'flat' : 'owners',
    root,
    evidence: [
      `${counted(repositories.length, 'bare repository', 'bare repositories')}, ${inFolders} of them in owner directories`,
      ...(suffix === '' ? ['some of their names do not end with .git'] : []),
    ],
    proposals: [byDirectory(storages(`${root}/{owner}/{repo}${suffix}`))],
    fallback: {
      ...everythingOf(owner, root, 'The repositories are not in owner directories.'),
      storages: storages(`${root}/{repo}${suffix}`, { by: 'fixed', name: owner }),
    },
    stores: [],
  };
}

/** gitolite: `repositories/gitolite-admin.git`, in the home of its account. */
export function gitolite(given: string, owner: string): Recognised | null {
  const root = [given, join(given, 'repositories')].find(place =>
    isDirectory(join(place, 'gitolite-admin.git')),
  );
  if (root === undefined) return null;
  const by = (source: OwnerSource, ownersFrom: string): Proposal => ({
    storages: [section('repos', [`${root}/{repo}.git`], source)],
    ownersFrom,
    advice: [],
  });
  return {
    layout: 'gitolite',
    root,
    evidence: [`${join(root, 'gitolite-admin.git')} is the administration repository of gitolite`],
    proposals: [
      byDirectory(
        [section('repos', [`${root}/{owner}/{repo}.git`])],
        [
          'A repository outside of an owner directory, such as gitolite-admin, has no owner here, and is never refused.',
        ],
      ),
      by({ by: 'file', name: 'gl-creator' }, 'the file gl-creator in it'),
      by({ by: 'git-config', key: 'gitweb.owner' }, 'gitweb.owner in its config'),
    ],
    fallback: everythingOf(
      owner,
      root,
      'Most repositories have no owner by directory, gl-creator or gitweb.owner.',
    ),
    own: ['gitolite-admin.git', 'testing.git'].map(name => join(physical(root), name)),
    stores: [],
  };
}
