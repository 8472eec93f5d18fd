/**
 * Decides which parts of a database are read again, by its marks.
 *
 * A part is read at once after a change if that is cheap. One that takes long rests for several times as long
 * as it took, and longer if only the mark of the whole database has changed, which any sign-in does.
 */

import type { ChangeMarks } from './database.ts';

/** Rest of a part, as a multiple of its duration, if one of its tables changed, or something somewhere. */
const restAfterChange = 5;
const restOtherwise = 50;
/** Duration up to which a part is read at once. */
const cheapMs = 200;

interface LastRead {
  readonly own: string;
  readonly whole: string | null;
  readonly endedAt: number;
  readonly tookMs: number;
}

interface Due {
  /** To be read now. */
  readonly parts: ReadonlySet<string>;
  /** Those of all parts whose marks are the same as when they were read. */
  readonly unchanged: ReadonlySet<string>;
}

export class DueParts {
  readonly #tables: Readonly<Record<string, readonly string[]>>;
  readonly #now: () => number;
  readonly #last = new Map<string, LastRead>();

  constructor(tables: Readonly<Record<string, readonly string[]>>, now: () => number) {
    this.#tables = tables;
    this.#now = now;
  }

  due(marks: ChangeMarks, full: boolean): Due {
    const parts = new Set<string>();
    const unchanged = new Set<string>();
    for (const part of Object.keys(this.#tables)) {
      const last = this.#last.get(part);
      const changed = last === undefined || last.own !== this.#markOf(part, marks);
      const mayHaveChanged = changed || last.whole !== marks.whole;
      if (!mayHaveChanged) unchanged.add(part);
      const factor = changed ? restAfterChange : restOtherwise;
      const rest = last === undefined || last.tookMs <= cheapMs ? 0 : last.tookMs * factor;
      const isRested = last === undefined || this.#now() - last.endedAt >= rest;
      if (full || (mayHaveChanged && isRested)) parts.add(part);
    }
    return { parts, unchanged };
  }

  /** Parts were read in so many milliseconds, after these marks were taken. */
  read(parts: ReadonlyMap<string, number>, marks: ChangeMarks): void {
    const endedAt = this.#now();
    for (const [part, tookMs] of parts) {
      this.#last.set(part, { own: this.#markOf(part, marks), whole: marks.whole, endedAt, tookMs });
    }
  }

  #markOf(part: string, { tables }: ChangeMarks): string {
    return (this.#tables[part] ?? []).map(table => tables.get(table) ?? '').join(' ');
  }
}
