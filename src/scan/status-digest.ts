/** Adds up the statuses of directories into one text that differs where any of them does. */

import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';

/** Texts are hashed together, since each call costs more than a status has to say. */
const mostPending = 65_536;

export class StatusDigest {
  readonly #hash = createHash('sha1');
  #pending = '';

  /** Number of links and size, since some file systems keep times no better than to the second. */
  add({ dev, ino, nlink, size, mtimeNs, ctimeNs }: BigIntStats): void {
    this.#pending += `${dev} ${ino} ${nlink} ${size} ${mtimeNs} ${ctimeNs}\n`;
    if (this.#pending.length >= mostPending) this.#flush();
  }

  /** `terms`: what else it is to cover. */
  end(terms: string): string {
    this.#pending += terms;
    this.#flush();
    return this.#hash.digest('base64');
  }

  #flush(): void {
    this.#hash.update(this.#pending);
    this.#pending = '';
  }
}
