/** A value that pages show; they are rendered again when it changes. */

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

  /** Calls `watcher` for each change. Returns a function that stops this. */
  watch(watcher: (value: Value) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

export function useWatched<Value>(watched: Watched<Value>): Value {
  const [value, setValue] = useState(watched.value);
  useEffect(() => {
    // The value may have changed between rendering and now.
    setValue(() => watched.value);
    return watched.watch(now => setValue(() => now));
  }, [watched]);
  return value;
}
