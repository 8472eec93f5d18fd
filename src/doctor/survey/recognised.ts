/** The findings of the recognisers about a directory. */

import type { ForgeKind } from '../../forge/index.ts';
import type { OwnerSource, StorageKind, StorageSettings } from '../../layout/index.ts';
import type { Subject } from '../../quota/index.ts';

/** `owners`: plain bare repositories in directories of owners; `flat`: without. */
export type RecognisedLayout = 'owners' | 'flat' | 'gitolite' | 'gitea' | 'forgejo' | 'gogs' | 'gitlab';

/** Something that no walk can attribute to an owner, since its names say nothing of one. */
export interface StorePlace {
  /** For people: `LFS objects`. */
  readonly what: string;
  readonly path: string;
  /** The leaf that it counts under once a program reports it; null: none. */
  readonly subject: Subject | null;
}

/** One way to tell the owners. */
export interface Proposal {
  readonly storages: readonly StorageSettings[];
  /** Completes "owner taken from … for 12 of 12 repositories". */
  readonly ownersFrom: string;
  /** Notes about it for the administrator: sentences. */
  readonly advice: readonly string[];
}

/** A forge, as far as its files tell. */
export interface ForgeFound {
  readonly kind: ForgeKind;
  /** Its own configuration file; null: none was found that can be read. */
  readonly configFile: string | null;
  /** A file that may be its configuration, and why it was not taken; null: there is none. */
  readonly passedOver: { readonly file: string; readonly why: 'closed' | 'named-by-hook' } | null;
  /** Places where its SQLite file may be, if it is not where the configuration says. */
  readonly databases: readonly string[];
}

export interface Recognised {
  readonly layout: RecognisedLayout;
  /** The directory that holds the repositories, as it was named. */
  readonly root: string;
  /** The signs that it was recognised by. */
  readonly evidence: readonly string[];
  /** At least one, the preferred one first. */
  readonly proposals: readonly Proposal[];
  /** The proposal that works for every repository, where none of the others does for half of them. */
  readonly fallback: Proposal | null;
  /** Physical paths of repositories that are the server's own, and say nothing of how it tells owners. */
  readonly own?: readonly string[];
  readonly stores: readonly StorePlace[];
  /** The forges whose database knows the owners of all stores. */
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

/** One owner for everything, and what that means. */
export function everythingOf(name: string, root: string, why: string): Proposal {
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
