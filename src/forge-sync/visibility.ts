/** Which repositories are public, as the forge's database says. */

import { isAmong, type RepositoryNames } from '../forge/index.ts';
import type { Leaf } from '../quota/index.ts';

export class ForgeVisibility {
  readonly #hashOf: (name: string) => number;
  #publicHashes: Float64Array | null = null;

  /** `hashOf`: by `owner/name`. */
  constructor(hashOf: (name: string) => number) {
    this.#hashOf = hashOf;
  }

  take({ publicHashes }: RepositoryNames): void {
    this.#publicHashes = publicHashes;
  }

  /** The leaf of the repository at this path; null while nothing was read. */
  leafOf(path: string): Leaf | null {
    if (this.#publicHashes === null) return null;
    const isPublic = isAmong(this.#publicHashes, this.#hashOf(repositoryNameOf(path)));
    return isPublic ? 'size:repos:public' : 'size:repos:private';
  }
}

/** `owner/name` of a repository, in lower case: forges have them as `…/owner/name.git`. */
export function repositoryNameOf(path: string): string {
  const [owner = '', name = ''] = path.split('/').slice(-2);
  return `${owner}/${name.replace(/\.git$/, '')}`.toLowerCase();
}
