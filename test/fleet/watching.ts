/** A shared store, and what is asked of it. */

import type { SharedStore } from '../../src/store/index.ts';

/** Called before the store does what it is asked for, with that. */
type Ahead = Partial<{ [Name in keyof SharedStore]: (...args: Parameters<SharedStore[Name]>) => unknown }>;

export interface Watched {
  readonly store: SharedStore;
  /** The names of what it was asked for, in order. */
  readonly asked: (keyof SharedStore)[];
}

/** Wraps a store, and records the methods that are called. */
export function watched(store: SharedStore, ahead: Ahead = {}): Watched {
  const asked: (keyof SharedStore)[] = [];
  const proxy = new Proxy(store, {
    get: (target, name: keyof SharedStore) => {
      if (name === 'sharePages') {
        return () => {
          asked.push(name);
          return target.sharePages();
        };
      }
      return async (...args: unknown[]) => {
        asked.push(name);
        // The arguments fit the method, whichever it is.
        await (ahead[name] as ((...args: unknown[]) => unknown) | undefined)?.(...args);
        return Reflect.apply(target[name], target, args);
      };
    },
  });
  return { store: proxy, asked };
}
