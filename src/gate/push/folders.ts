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
    // Nearly no name has any of them.
    if (!telling.test(name)) return;
    const levels = name.split('/');
    for (const [index, level] of levels.entries()) {
      if (index === 0) continue;
      const isLast = index === levels.length - 1;
      const tells = isLast
        ? level === 'HEAD' || level === 'commondir'
        : level === 'objects' || level === 'refs';
      if (tells) this.#note(levels.slice(0, index).join('/'), level);
    }
  }

  get areTooMany(): boolean {
    return this.#areTooMany;
  }

  /** The names that have to be looked for in the repository. */
  get wanted(): readonly string[] {
    return [...this.#folders].flatMap(([folder, own]) =>
      parts.filter(part => !own.has(part)).map(part => `${folder}/${part}`),
    );
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

  #note(folder: string, part: string): void {
    const known = this.#folders.get(folder);
    if (known !== undefined) known.add(part);
    else if (this.#folders.size < mostFolders) this.#folders.set(folder, new Set([part]));
    else this.#areTooMany = true;
  }
}
