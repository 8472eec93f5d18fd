/**
 * The types of what recognisers find in a directory. Recognises gitolite, and bare repositories as an
 * administrator makes them, with or without owner directories.
 */

import { dirname, join, relative } from 'node:path';
import type { ForgeKind } from '../../forge/index.ts';
import type { OwnerSource, StorageKind, StorageSettings } from '../../layout/index.ts';
import type { Subject } from '../../quota/index.ts';
import { counted } from '../../text.ts';
import { isDirectory, physical } from '../paths.ts';

/** `owners`: plain bare repositories in directories of owners; `flat`: without. */
export type RecognisedLayout = 'owners' | 'flat' | 'gitolite' | 'gitea' | 'forgejo' | 'gogs' | 'gitlab';

/** A store whose owners no walk can find, since the names of its files do not contain them. */
export interface StorePlace {
  /** The name for people, such as `LFS objects`. */
  readonly what: string;
  readonly path: string;
  /** The leaf that it counts under once a program reports it; null: none. */
  readonly subject: Subject | null;
}

export interface Proposal {
  readonly storages: readonly StorageSettings[];
  /** Completes "owner taken from … for 12 of 12 repositories". */
  readonly ownersFrom: string;
  /** Sentences about the proposal for the administrator. */
  readonly advice: readonly string[];
}

export interface ForgeFound {
  readonly kind: ForgeKind;
  /** The forge's own configuration file; null if none was found that can be read. */
  readonly configFile: string | null;
  /** A file that may be the configuration, and why it was not taken; null if there is none. */
  readonly passedOver: { readonly file: string; readonly why: 'closed' | 'named-by-hook' } | null;
  /** Paths where the SQLite file may be, if it is not where the configuration says. */
  readonly databases: readonly string[];
}

export interface Recognised {
  readonly layout: RecognisedLayout;
  /** The directory with the repositories, as it was given. */
  readonly root: string;
  readonly evidence: readonly string[];
  /** At least one, the preferred one first. */
  readonly proposals: readonly Proposal[];
  /** The proposal that works for every repository, used if no other one works for half of them. */
  readonly fallback: Proposal | null;
  /** Physical paths of the server's own repositories, which do not show how it names owners. */
  readonly own?: readonly string[];
  readonly stores: readonly StorePlace[];
  /** The forge whose database knows the owners of the stores. */
  readonly forge?: ForgeFound;
}

/** A section as it is proposed: `VISIBILITY` is left to its default. */
export function section(
  kind: StorageKind,
  templates: readonly string[],
  owner: OwnerSource = { by: 'path' },
): StorageSettings {
  return { kind, templates, owner, visibility: 'export-ok' };
}

/** Proposes owners by the directories above their repositories. */
export function byDirectory(storages: Proposal['storages'], advice: Proposal['advice'] = []): Proposal {
  return { storages, ownersFrom: 'the directory name', advice };
}

/** Proposes one owner for everything, and says what that means. */
function everythingOf(name: string, root: string, why: string): Proposal {
  return {
    storages: [section('repos', [`${root}/{repo}.git`], { by: 'fixed', name })],
    ownersFrom: `OWNER = fixed ${name}`,
    advice: [
      `${why} So all repositories count for one owner, ${name}, and the limit applies to all of them together.`,
      'To separate owners, put the repositories into owner directories, PATH = …/{owner}/{repo}.git, or set OWNER to ' +
        'file NAME (the first line of that file in the repository) or git-config KEY (a key of its config).',
    ],
  };
}

/** Names of directories that contain repositories, and are no owners. */
const containers = ['repositories', 'repos', 'git', 'git-data'];

/** `repositories` are physical paths below `base`, the physical path of `root`. */
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

/** Recognises gitolite by `repositories/gitolite-admin.git` in the home of its account. */
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
