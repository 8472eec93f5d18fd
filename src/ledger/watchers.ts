/** Those who want to know that a decision may have become another. */

/**
 * Called with the key of an owner whose usage or groups have changed, or with null where anybody's decisions
 * may have: rules, groups or settings are others, or somebody has gone. It is called at once and in the midst
 * of the change, as often as there are any, so it only notes what it was told, and looks later.
 */
export type Watcher = (ownerKey: string | null) => void;

export class Watchers {
  readonly #watchers = new Set<Watcher>();

  /** Gives what takes it out again. */
  add(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  tell(ownerKey: string | null): void {
    for (const watcher of this.#watchers) watcher(ownerKey);
  }
}
