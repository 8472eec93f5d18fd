/** Interfaces of the parts that know the measured repositories, or follow their changes. */

import type { Leaf } from '../quota/index.ts';

/** Reads visibility and owners of repositories from a forge's database. */
export interface RepositoryVisibility {
  /** The leaf of the repository at this path; null while it is not known. */
  leafOf(path: string): Leaf | null;
  /** The owner of the repository at this path; null for nobody, and undefined while it is not known. */
  ownerOf(path: string): string | null | undefined;
}

/** Gets the events of the repositories that are measured here. */
export interface RepositoryWatch {
  /** A hook of another host says that something was pushed into a repository that is walked here. */
  changed(path: string): void;
  /** A check let something through before: it may have come by now. */
  mayHaveChanged(path: string): void;
  /** A walk found another size than the one before. */
  resized(path: string): void;
  /** A walk found a unit that was not known. */
  appeared(path: string): void;
}
