/** The last report about the space of each repository, as text: many of them, in bounded memory. */

import { type SpaceReport, spaceReport } from '../wire/index.ts';

interface Kept {
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly objectBytes: number;
  readonly reachableBytes: number;
  /** The repository has changed while it was looked through. */
  readonly hasMoved: boolean;
  /** The repository has changed since. */
  isOld: boolean;
}

const most = 2000;
const mostCharacters = 16 * 1024 * 1024;

export class SpaceReports {
  /** The latest last. */
  readonly #kept = new Map<string, Kept>();
  #characters = 0;

  put(path: string, report: SpaceReport, about: Pick<Kept, 'at' | 'hasMoved'>): void {
    this.forget(path);
    const text = JSON.stringify(report);
    const { object_bytes: objectBytes, reachable_bytes: reachableBytes } = report;
    this.#kept.set(path, { ...about, text, objectBytes, reachableBytes, isOld: false });
    this.#characters += text.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= most && this.#characters <= mostCharacters) return;
      this.forget(oldest);
    }
  }

  /** Null: there is none. */
  of(path: string): (Omit<Kept, 'text'> & { report(): SpaceReport }) | null {
    const kept = this.#kept.get(path);
    if (kept === undefined) return null;
    return { ...kept, report: () => spaceReport.parse(JSON.parse(kept.text)) };
  }

  changed(path: string): void {
    const kept = this.#kept.get(path);
    if (kept !== undefined) kept.isOld = true;
  }

  /** The worker measured the repository. */
  measured(path: string, found: { readonly object_bytes: number; readonly reachable_bytes: number }): void {
    const kept = this.#kept.get(path);
    if (kept?.objectBytes !== found.object_bytes || kept.reachableBytes !== found.reachable_bytes)
      this.changed(path);
  }

  forget(path: string): void {
    this.#characters -= this.#kept.get(path)?.text.length ?? 0;
    this.#kept.delete(path);
  }
}
