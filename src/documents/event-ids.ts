/** Ids of events, in the order in which they are given: a later one is greater. */

import { randomBytes } from 'node:crypto';

const digits = 9;

export class EventIds {
  readonly #prefix: string;
  /** Makes the ids of this process different from those of others. */
  readonly #life = randomBytes(6).toString('hex');
  #given = 0;

  /** `prefix`: lower-case letters. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  next(): string {
    return `${this.#prefix}-${String(++this.#given).padStart(digits, '0')}-${this.#life}`;
  }
}
