/**
 * Refs that would make a folder of the repository a repository for git, without any hook: `x/HEAD`,
 * `x/objects/a` and `x/refs/a` do so with `refs/heads/x`. A folder is one if it has HEAD and one of `objects`
 * and `commondir`.
 */

/** More folders than that are of no push that means well. */
const mostFolders = 1000;

const telling = /\/(?:HEAD$|commondir$|objects\/|refs\/)/;
const parts = ['HEAD', 'objects', 'commondir'] as const;

export class Folders {
  /** By folder, which of the parts the push itself writes there. */
  readonly #folders = new Map<string, Set<string>>();
  #areTooMany = false;

  /** Takes the name of a ref that is written. */
  add(name: string): void {
    // A cheap look first: nearly all names end here.
    if (!telling.test(name)) return;
    for (let at = name.indexOf('/'); at !== -1; ) {
      const end = name.indexOf('/', at + 1);
      const level = name.slice(at + 1, end === -1 ? name.length : end);
      const tells =
        end === -1 ? level === 'HEAD' || level === 'commondir' : level === 'objects' || level === 'refs';
      if (tells) this.#note(name.slice(0, at), level);
      at = end;
    }
  }

  get areTooMany(): boolean {
    return this.#areTooMany;
  }

  /** The names that the push itself writes, as `wanted` has those of others. */
  get written(): readonly string[] {
    return this.#names(true);
  }

  /** The names that have to be looked for in the repository. */
  get wanted(): readonly string[] {
    return this.#names(false);
  }

  /** A folder that would be a repository beside these names that exist; null: none would. */
  repositoryWith(existing: readonly string[]): string | null {
    const there = new Set(existing);
    for (const [folder, own] of this.#folders) {
      const has = (part: string) => own.has(part) || there.has(`${folder}/${part}`);
      if (has('HEAD') && (has('objects') || has('commondir'))) return folder;
    }
    return null;
  }

  #names(isOwn: boolean): readonly string[] {
    return [...this.#folders].flatMap(([folder, own]) =>
      parts.filter(part => own.has(part) === isOwn).map(part => `${folder}/${part}`),
    );
  }

  #note(folder: string, part: string): void {
    const known = this.#folders.get(folder);
    if (known !== undefined) known.add(part);
    else if (this.#folders.size < mostFolders) this.#folders.set(folder, new Set([part]));
    else this.#areTooMany = true;
  }
}
