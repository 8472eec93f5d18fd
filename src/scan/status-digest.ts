/** Adds up the statuses of directories into one text that differs where any of them does. */

import { createHash, type Hash, hash } from 'node:crypto';
import type { Stats } from 'node:fs';

/** Device, inode, links, size, and the times of the last changes of names and of the status. */
const numbersEach = 6;
const bytesEach = numbersEach * Float64Array.BYTES_PER_ELEMENT;
/** Statuses are hashed together, since each call costs more than one of them. */
const mostPending = 1024;

const algorithm = 'sha1';

export class StatusDigest {
  /** Grows to hold `mostPending` statuses; most units have a dozen. */
  #numbers = new Float64Array(16 * numbersEach);
  #pending = 0;
  /** There is one only for units with more directories. */
  #hash: Hash | null = null;

  /**
   * Number of links and size, since some file systems keep times no better than to the second. A status has
   * its times to a fraction of a microsecond; they are compared only with those of changes that came seconds
   * later.
   */
  add({ dev, ino, nlink, size, mtimeMs, ctimeMs }: Stats): void {
    if (this.#pending * numbersEach === this.#numbers.length) this.#makeRoom();
    this.#numbers.set([dev, ino, nlink, size, mtimeMs, ctimeMs], this.#pending * numbersEach);
    this.#pending += 1;
  }

  /** `terms`: what else it is to cover. */
  end(terms: string): string {
    const last = Buffer.concat([this.#bytes(), Buffer.from(terms)]);
    return this.#hash === null ? hash(algorithm, last, 'base64') : this.#hash.update(last).digest('base64');
  }

  #makeRoom(): void {
    if (this.#pending < mostPending) {
      const numbers = new Float64Array(this.#numbers.length * 4);
      numbers.set(this.#numbers);
      this.#numbers = numbers;
      return;
    }
    this.#hash = (this.#hash ?? createHash(algorithm)).update(this.#bytes());
    this.#pending = 0;
  }

  #bytes(): Uint8Array {
    return new Uint8Array(this.#numbers.buffer, 0, this.#pending * bytesEach);
  }
}
