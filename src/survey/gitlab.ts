/**
 * GitLab: repositories under the hash of their project's number, `@hashed/aa/bb/HASH.git`.
 *
 * Whose they are is in GitLab's database. Older versions also wrote the project's full path into each
 * repository's config, as gitlab.fullpath; the whole path is taken for the owner's name, so that each project
 * is one.
 */

import { join } from 'node:path';
import { isDirectory } from './directories.ts';
import { type Recognised, type StorePlace, section } from './recognised.ts';

const noHooks =
  'GitLab does not run the hooks of a repository: usage is measured and reported, and no push is refused, except by its global hook (docs/forges/hooks.md).';

const below = ['', 'repositories', 'git-data/repositories'];

export function gitlab(given: string, owner: string): Recognised | null {
  const root = below.map(name => join(given, name)).find(place => isDirectory(join(place, '@hashed')));
  if (root === undefined) return null;
  const hashed = [`${root}/@hashed/*/*/{repo}.git`];
  const wikis = [
    `${root}/@hashed/*/*/{repo}.wiki.git`,
    ...(isDirectory(join(root, '@groups')) ? [`${root}/@groups/*/*/{repo}.wiki.git`] : []),
  ];
  const fullpath = { by: 'git-config', key: 'gitlab.fullpath' } as const;
  const everything = { by: 'fixed', name: owner } as const;
  return {
    layout: 'gitlab',
    root,
    evidence: [`${join(root, '@hashed')} is GitLab's hashed storage`],
    proposals: [
      {
        storages: [section('repos', hashed, fullpath), section('wiki', wikis, fullpath)],
        told: 'name their project as gitlab.fullpath in their config',
        advice: [
          noHooks,
          'gitlab.fullpath contains "group/project", so each project is an owner of its own, and the limit applies to each project.',
          'A wiki whose config does not name it has no owner, and is never refused.',
          'Newer versions of GitLab remove gitlab.fullpath from the configs: run softquota doctor after an upgrade.',
        ],
      },
    ],
    fallback: {
      storages: [section('repos', hashed, everything), section('wiki', wikis, everything)],
      told: `count together for one owner, ${owner}`,
      advice: [
        noHooks,
        `Only GitLab's database knows the owner of a repository. So all repositories count for one owner, ${owner}, and the limit applies to all of them together.`,
        "To tell owners apart, let a job that reads GitLab's database write each owner into a file of the repository, and set OWNER = file NAME.",
      ],
    },
    stores: stores(given, root),
  };
}

/** The folders of a package installation lie beside git-data. */
function stores(given: string, root: string): StorePlace[] {
  const homes = [given, join(root, '../..')];
  const home = homes.find(place => isDirectory(join(place, 'gitlab-rails'))) ?? given;
  const places: readonly StorePlace[] = [
    { what: 'LFS objects', path: join(home, 'gitlab-rails/shared/lfs-objects'), subject: 'size:git:lfs' },
    {
      what: 'artifacts',
      path: join(home, 'gitlab-rails/shared/artifacts'),
      subject: 'size:assets:artifacts',
    },
    {
      what: 'packages',
      path: join(home, 'gitlab-rails/shared/packages'),
      subject: 'size:assets:packages:all',
    },
    { what: 'attachments', path: join(home, 'gitlab-rails/uploads'), subject: 'size:assets:attachments:all' },
    { what: 'snippets', path: join(root, '@snippets'), subject: 'size:repos:all' },
    { what: 'objects shared by forks', path: join(root, '@pools'), subject: null },
  ];
  return places.filter(({ path }) => isDirectory(path));
}
