/**
 * Names that pushes of the last minutes write and that tell of a repository in a folder: until git has written
 * them, nobody finds them in the repository, and pushes at once would not see each other.
 */

import type { Timing } from './timing.ts';

interface UnitNames {
  /** By name, until when it counts. */
  readonly until: Map<string, number>;
  characters: number;
}

/** Longer than the hooks of a push take. */
const rememberedMs = 10 * 60_000;
/** More are of no push that means well. */
const mostInUnit = 250_000;
/** Beyond that, those of the unit that began first are forgotten. */
const mostInAll = 16_000_000;

export class FoldersUnderWay {
  readonly #timing: Timing;
  readonly #units = new Map<string, UnitNames>();
  #characters = 0;

  constructor(timing: Timing) {
    this.#timing = timing;
  }

  names(unit: string): readonly string[] {
    this.#dropEnded(unit);
    return [...(this.#units.get(unit)?.until.keys() ?? [])];
  }

  /** False: they are too many, and none is taken. */
  add(unit: string, names: readonly string[]): boolean {
    if (names.length === 0) return true;
    this.#dropEnded(unit);
    const known = this.#units.get(unit) ?? { until: new Map<string, number>(), characters: 0 };
    const added = names.filter(name => !known.until.has(name)).reduce((sum, { length }) => sum + length, 0);
    if (known.characters + added > mostInUnit) return false;
    const until = this.#timing.now() + rememberedMs;
    for (const name of names) {
      known.until.delete(name);
      known.until.set(name, until);
    }
    known.characters += added;
    this.#characters += added;
    this.#units.delete(unit);
    this.#units.set(unit, known);
    for (const other of this.#units.keys()) {
      if (this.#characters <= mostInAll) break;
      this.#forget(other);
    }
    return true;
  }

  #dropEnded(unit: string): void {
    const known = this.#units.get(unit);
    if (known === undefined) return;
    const now = this.#timing.now();
    for (const [name, until] of known.until) {
      if (until > now) break;
      known.until.delete(name);
      known.characters -= name.length;
      this.#characters -= name.length;
    }
    if (known.until.size === 0) this.#units.delete(unit);
  }

  #forget(unit: string): void {
    this.#characters -= this.#units.get(unit)?.characters ?? 0;
    this.#units.delete(unit);
  }
}
