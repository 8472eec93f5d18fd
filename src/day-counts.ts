/** Counts for findings: what happened within a day, and how often. */

const mostCounted = 200;
const dayMs = 86_400_000;

type Counted<Told> = Told & {
  readonly count: number;
  /** The last time, in milliseconds since 1970. */
  readonly lastAt: number;
};

/** Counts what happened, by key. Lists the last 200 keys, each for a day after its last time. */
export class DayCounts<Told extends object> {
  /** The oldest first. */
  readonly #all = new Map<string, Counted<Told>>();

  /** Counts once more, or from 1 if the last time is a day ago. `told` replaces the earlier one. */
  note(key: string, told: Told): void {
    const lastAt = Date.now();
    const before = this.#all.get(key);
    const count = before === undefined || before.lastAt <= lastAt - dayMs ? 1 : before.count + 1;
    this.#all.delete(key);
    this.#all.set(key, { ...told, count, lastAt });
    const [first] = this.#all.keys();
    if (this.#all.size > mostCounted && first !== undefined) this.#all.delete(first);
  }

  forget(key: string): void {
    this.#all.delete(key);
  }

  /** The latest first. */
  get list(): readonly Counted<Told>[] {
    const since = Date.now() - dayMs;
    return [...this.#all.values()].filter(({ lastAt }) => lastAt > since).reverse();
  }
}
