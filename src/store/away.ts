/** State of a store that does not answer, or refuses to write. */

import { messageOf } from '../errors.ts';
import type { Log } from '../log.ts';

export interface Away {
  readonly since: number;
  readonly reason: string;
}

interface AwayStateOptions {
  readonly log: Pick<Log, 'info' | 'warn'>;
  now(): number;
  /** Text in the log when the store is away; the reason follows. */
  readonly awayWords: string;
  readonly backWords: string;
}

/** Remembers since when and why a store is away, and logs when that begins, ends, or has another reason. */
export class AwayState {
  readonly #options: AwayStateOptions;
  /** Null while the store answers. */
  current: Away | null = null;

  constructor(options: AwayStateOptions) {
    this.#options = options;
  }

  failed(error: unknown): void {
    const { log, now, awayWords } = this.#options;
    const reason = messageOf(error);
    if (this.current?.reason !== reason) log.warn({ err: error }, `${awayWords}: ${reason}`);
    this.current = { since: this.current?.since ?? now(), reason };
  }

  /** Records an answer of the store. Returns true if it was away. */
  succeeded(): boolean {
    if (this.current === null) return false;
    const awaySince = new Date(this.current.since).toISOString();
    this.#options.log.info({ awaySince }, this.#options.backWords);
    this.current = null;
    return true;
  }
}
