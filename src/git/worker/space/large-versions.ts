/** The largest versions of files, up to a number. */

/** A version of a file; the name is in bytes, as Latin-1. */
export interface StoredVersion {
  readonly id: string;
  /** The name that git gives it, which it has only once. */
  readonly path: string;
  /** On the disk. */
  readonly bytes: number;
  readonly size: number;
  /** The id of the version that this one is stored as a difference from; only zeros: it is stored whole. */
  readonly base: string;
}

/** One whose names are all known. */
export interface Version extends StoredVersion {
  readonly paths: Set<string>;
}

export class LargeVersions {
  readonly #most: number;
  #kept: StoredVersion[] = [];
  #least = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add({ id, path, base, ...sizes }: StoredVersion): void {
    if (sizes.size < this.#least) return;
    this.#kept.push({ id: ownText(id), path: ownText(path), base: ownText(base), ...sizes });
    if (this.#kept.length <= this.#most) return;
    this.#kept.sort((a, b) => b.size - a.size);
    this.#kept.length = Math.floor(this.#most / 2);
    this.#least = this.#kept.at(-1)?.size ?? 0;
  }

  get all(): readonly StoredVersion[] {
    return this.#kept;
  }

  /** Those with these names, by their ids. */
  of(paths: ReadonlySet<string>): ReadonlyMap<string, Version> {
    return new Map(
      this.#kept
        .filter(({ path }) => paths.has(path))
        .map(version => [version.id, { ...version, paths: new Set([version.path]) }]),
    );
  }
}

/** Copies a text in Latin-1: a part of a longer text would keep all of that in memory. */
export function ownText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
