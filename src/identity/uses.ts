/**
 * When tokens were last used: known at once, written now and then and all together, so that no request waits for a
 * write or makes one.
 */

import type { Ledger } from '../ledger/index.ts';
import { recordUses } from './tokens.ts';

export interface UsesOptions {
  readonly ledger: Pick<Ledger, 'govern'>;
  readonly log: { warn(details: object, message: string): void };
  /** Milliseconds between two writes, at least. */
  readonly everyMs: number;
}

export class Uses {
  readonly #options: UsesOptions;
  /** Not written yet; milliseconds since 1970, by the tokens' keys. */
  #noted = new Map<string, number>();
  #writing: ReadonlyMap<string, number> = new Map();
  #timer: NodeJS.Timeout | null = null;

  constructor(options: UsesOptions) {
    this.#options = options;
  }

  note(tokenKey: string, at: number): void {
    this.#noted.set(tokenKey, at);
    this.#timer ??= setTimeout(() => void this.#write(), this.#options.everyMs).unref();
  }

  /** What is not written yet; null where nothing waits. */
  lastOf(tokenKey: string): number | null {
    return this.#noted.get(tokenKey) ?? this.#writing.get(tokenKey) ?? null;
  }

  /** Writes what waits. */
  async close(): Promise<void> {
    if (this.#noted.size > 0) await this.#write();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    const uses = this.#noted;
    this.#noted = new Map();
    this.#writing = uses;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    try {
      await this.#options.ledger.govern(({ draft }) => recordUses(draft, uses));
    } catch (error) {
      this.#options.log.warn(
        { err: error },
        'when tokens were last used could not be kept; it is tried again',
      );
      for (const [key, at] of uses) if (!this.#noted.has(key)) this.note(key, at);
    }
    this.#writing = new Map();
  }
}
