/** Remembers values that are valid once, until they would be invalid anyway. */

/** Beyond so many the oldest are forgotten: who has that many could do without. */
const mostRemembered = 100_000;

export class UsedOnce {
  readonly #forMs: number;
  /** In the order in which they are forgotten; until when, in milliseconds since 1970. */
  readonly #until = new Map<string, number>();

  constructor(forMs: number) {
    this.#forMs = forMs;
  }

  /** False: it was used before. */
  use(name: string, now: number): boolean {
    for (const [oldest, until] of this.#until) {
      if (until > now && this.#until.size < mostRemembered) break;
      this.#until.delete(oldest);
    }
    if (this.#until.has(name)) return false;
    this.#until.set(name, now + this.#forMs);
    return true;
  }
}
