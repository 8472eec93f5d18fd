/** The figures of all repositories, and which of them the daemon does not have yet. */

import type { RepositoryFigures } from '../../wire/index.ts';

/** Characters as JSON; the daemon takes a mebibyte with all else of a report. */
const mostReported = 200_000;
const mostAtOnce = 200;

export class Figures {
  readonly #all = new Map<string, RepositoryFigures>();
  readonly #unsent = new Set<string>();

  put(figures: RepositoryFigures): void {
    this.#all.set(figures.path, figures);
    this.#unsent.add(figures.path);
  }

  forget(path: string): void {
    this.#all.delete(path);
    this.#unsent.delete(path);
  }

  /** The connection is another: nobody knows what came over the one before. */
  sendAllAgain(): void {
    for (const path of this.#all.keys()) this.#unsent.add(path);
  }

  get hasUnsent(): boolean {
    return this.#unsent.size > 0;
  }

  /** Takes the next that fit into a report. */
  next(): readonly RepositoryFigures[] {
    const found: RepositoryFigures[] = [];
    let length = 0;
    for (const path of this.#unsent) {
      const figures = this.#all.get(path);
      length += figures === undefined ? 0 : JSON.stringify(figures).length;
      if (found.length > 0 && (length > mostReported || found.length === mostAtOnce)) break;
      this.#unsent.delete(path);
      if (figures !== undefined) found.push(figures);
    }
    return found;
  }
}
