/** A value that pages draw, and are drawn again when it becomes another. */

import { useEffect, useState } from 'preact/hooks';

export class Watched<Value> {
  #value: Value;
  readonly #watchers = new Set<(value: Value) => void>();

  constructor(value: Value) {
    this.#value = value;
  }

  get value(): Value {
    return this.#value;
  }

  set(value: Value): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const watcher of [...this.#watchers]) watcher(value);
  }

  /** Gives what ends it. */
  watch(watcher: (value: Value) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

export function useWatched<Value>(watched: Watched<Value>): Value {
  const [value, setValue] = useState(watched.value);
  useEffect(() => {
    // It may have become another between drawing and now.
    setValue(() => watched.value);
    return watched.watch(now => setValue(() => now));
  }, [watched]);
  return value;
}
