/** The largest versions of files, up to a number. */

import type { Version } from './other-names.ts';

interface Kept {
  readonly id: string;
  readonly path: string;
  readonly bytes: number;
}

export class LargeVersions {
  readonly #most: number;
  #kept: Kept[] = [];
  #least = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(id: string, path: string, bytes: number): void {
    if (bytes < this.#least) return;
    this.#kept.push({ id, path, bytes });
    if (this.#kept.length <= this.#most) return;
    this.#kept.sort((a, b) => b.bytes - a.bytes);
    this.#kept.length = Math.floor(this.#most / 2);
    this.#least = this.#kept.at(-1)?.bytes ?? 0;
  }

  /** Those with these names, by their ids. */
  of(paths: ReadonlySet<string>): ReadonlyMap<string, Version> {
    return new Map(
      this.#kept
        .filter(({ path }) => paths.has(path))
        .map(({ id, path, bytes }) => [id, { bytes, path, paths: new Set([path]) }]),
    );
  }
}
