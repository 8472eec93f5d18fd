/** Ids of events, in the order in which they are given: a later one is greater. */

import { randomBytes } from 'node:crypto';

const digits = 9;

export class EventIds {
  readonly #prefix: string;
  /** What another process gives is another id. */
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
