/**
 * Recognises GitLab: repositories under the hash of their project's number, `@hashed/aa/bb/HASH.git`.
 *
 * GitLab's database names their owners, if its configuration is found. Older versions also wrote the
 * project's full path into each repository's config, as gitlab.fullpath; then each project is an owner with
 * that name. For the replicas of a Gitaly Cluster, in `@cluster`, it proposes nothing and says so.
 */

import { join } from 'node:path';
import type { OwnerSource } from '../../layout/index.ts';
import type { Subject } from '../../quota/index.ts';
import { fileText, isClosed, isDirectory, liesIn, withAbove } from '../paths.ts';
import { type ForgeFound, type Proposal, type Recognised, type StorePlace, section } from './plain.ts';

const noHooks =
  'GitLab does not run the hooks of a repository: usage is measured and reported, and no push is refused, except by its global hook (docs/forges/hooks.md).';

const below = ['', 'repositories', 'git-data/repositories'];

/** `named`: the configuration file; null: find it. `isForgeAway`: the database cannot name the owners. */
export function gitlab(
  given: string,
  owner: string,
  named: string | null,
  isForgeAway: boolean,
): Recognised | null {
  const places = below.map(name => join(given, name));
  const has = (name: string) => (place: string) => isDirectory(join(place, name));
  const root = places.find(has('@hashed')) ?? places.find(has('@cluster'));
  if (root === undefined) return null;
  const isHashed = has('@hashed')(root);
  const cluster = has('@cluster')(root) ? [clusterAdvice(join(root, '@cluster'))] : [];
  const hashed = [`${root}/@hashed/*/*/{repo}.git`];
  const wikis = [
    `${root}/@hashed/*/*/{repo}.wiki.git`,
    ...(isDirectory(join(root, '@groups')) ? [`${root}/@groups/*/*/{repo}.wiki.git`] : []),
  ];
  const ownedBy = (source: OwnerSource) => [section('repos', hashed, source), section('wiki', wikis, source)];
  const about = named === null ? configurationOf(given, root) : { configFile: named, passedOver: null };
  const { configFile } = about;
  const isForges = configFile !== null && !isForgeAway;
  return {
    layout: 'gitlab',
    root,
    evidence: [
      ...(isHashed ? [`${join(root, '@hashed')} is GitLab's hashed storage`] : []),
      ...(configFile === null ? [] : [`${configFile} says where the database of GitLab is`]),
    ],
    forge: { kind: 'gitlab', ...about, databases: [] },
    proposals: [
      ...(isForges ? [byForge(root, cluster)] : []),
      {
        storages: ownedBy({ by: 'git-config', key: 'gitlab.fullpath' }),
        ownersFrom: 'gitlab.fullpath in its config',
        advice: [
          noHooks,
          'gitlab.fullpath contains "group/project", so each project is an owner of its own, and the limit applies to each project.',
          'A wiki whose config does not name it has no owner, and is never refused.',
          'Newer versions of GitLab remove gitlab.fullpath from the configs: run softquota doctor after an upgrade.',
          ...cluster,
        ],
      },
    ],
    fallback: {
      storages: ownedBy({ by: 'fixed', name: owner }),
      ownersFrom: `OWNER = fixed ${owner}`,
      advice: [
        noHooks,
        `Only GitLab's database knows the owner of a repository. So all repositories count for one owner, ${owner}, and the limit applies to all of them together.`,
        "To tell owners apart, name GitLab's configuration: softquota init ROOT --forge-config FILE.",
        ...cluster,
      ],
    },
    stores: stores(given, root, isForges),
  };
}

function clusterAdvice(directory: string): string {
  return `${directory} has replicas of a Gitaly Cluster. They do not count yet: set [forge] PRAEFECT and [storage.repos] PATH as docs/forges/gitlab.md says.`;
}

const hashedKinds = ['@hashed', '@snippets', '@pools'];

/** Takes the owners from the database. Objects that forks share belong to the project of their origin. */
function byForge(root: string, more: readonly string[]): Proposal {
  const source = { by: 'forge' } as const;
  // Snippets and pools may come later.
  const repositories = hashedKinds.map(kind => `${root}/${kind}/*/*/{repo}.git`);
  return {
    storages: [
      section('repos', repositories, source),
      section('wiki', [`${root}/@hashed/*/*/{repo}.wiki.git`], source),
    ],
    ownersFrom: "GitLab's database",
    advice: [noHooks, ...more],
  };
}

/**
 * The package's own file, if it is of this data; that of a container, which is in `config` beside the data;
 * or that of an installation from source.
 */
function configurationOf(given: string, root: string): Pick<ForgeFound, 'configFile' | 'passedOver'> {
  const beside = withAbove(given).flatMap(place => [
    join(place, 'config/gitlab.rb'),
    join(place, 'gitlab/config/database.yml'),
  ]);
  for (const file of [...beside, packaged]) {
    if (isClosed(file) && (file !== packaged || liesIn(root, packagedData))) {
      return { configFile: null, passedOver: { file, why: 'closed' } };
    }
    const text = fileText(file, { follow: true });
    if (text === null || (file === packaged && !namesPlace(text, root))) continue;
    return { configFile: file, passedOver: null };
  }
  return { configFile: null, passedOver: null };
}

const packaged = '/etc/gitlab/gitlab.rb';
const packagedData = '/var/opt/gitlab';

/** Returns true if a gitlab.rb is of the data here: in a directory that it names, or in the package's. */
function namesPlace(text: string, root: string): boolean {
  const lines = text.split('\n').filter(line => !line.trimStart().startsWith('#'));
  const written = lines.flatMap(line => line.split(/["']/)).filter(word => /^\/./.test(word));
  const places = [packagedData, ...written];
  return places.some(place => isDirectory(place) && liesIn(root, place));
}

/** Names below `gitlab-rails`. */
const packagedStores: readonly (readonly [what: string, name: string, subject: Subject])[] = [
  ['LFS objects', 'shared/lfs-objects', 'size:git:lfs'],
  ['artifacts', 'shared/artifacts', 'size:assets:artifacts'],
  ['packages', 'shared/packages', 'size:assets:packages:all'],
  ['attachments', 'uploads', 'size:assets:attachments:all'],
];

/** The folders of a package installation are beside git-data. */
function stores(given: string, root: string, isForges: boolean): StorePlace[] {
  const rails = [given, join(root, '../..')].map(home => join(home, 'gitlab-rails')).find(isDirectory);
  const places: StorePlace[] =
    rails === undefined
      ? []
      : packagedStores.map(([what, name, subject]) => ({ what, path: join(rails, name), subject }));
  // With the database, these are repositories with owners like others.
  if (!isForges) {
    places.push(
      { what: 'snippets', path: join(root, '@snippets'), subject: 'size:repos:all' },
      { what: 'objects shared by forks', path: join(root, '@pools'), subject: null },
    );
  }
  places.push({ what: 'replicas of a Gitaly Cluster', path: join(root, '@cluster'), subject: null });
  return places.filter(({ path }) => isDirectory(path));
}
