/** Walks of one unit, one after the other, with a cache and a clock that is an hour late. */

import { join } from 'node:path';
import type { Test } from 'tap';
import type { Unit } from '../../src/layout/index.ts';
import { type Cache, openCache, prepareCache } from '../../src/scan/cache.ts';
import type { Walked, WalkRequest } from '../../src/scan/outcome.ts';
import { unchangedSince, walkedAgain } from '../../src/scan/unchanged.ts';
import { walk } from '../../src/scan/walk.ts';
import { passTick } from './late.ts';
import { temporary } from './world.ts';

/** `trustsSignature`: as a sweep does. */
export type WalkTerms = Partial<WalkRequest> & { readonly trustsSignature?: boolean };

export interface CachedWalks {
  readonly cache: Cache;
  readonly cacheFile: string;
  /**
   * Walks with the bytes of the walk before as those that are known, unless the request says otherwise.
   * `isRead`: no signature stood for it.
   */
  walk(request?: WalkTerms): Walked & { readonly isRead: boolean };
}

export function cachedWalks(t: Test, unit: Unit): CachedWalks {
  const data = temporary(t);
  const cacheFile = join(data, 'scan.db');
  prepareCache(cacheFile);
  const cache = openCache(cacheFile, why => t.fail(why));
  t.teardown(() => cache.close());
  let knownBytes: number | null = null;
  return {
    cache,
    cacheFile,
    walk: ({ trustsSignature = false, ...request } = {}) => {
      let visited = 0;
      const usual = { unit, inner: [], exclude: new Set<string>(), measure: 'apparent', knownBytes } as const;
      const terms = { ...usual, ...request };
      const pulse = () => {
        visited += 1;
        return true;
      };
      const unchanged = trustsSignature ? unchangedSince(terms, cache, pulse) : null;
      const outcome =
        unchanged?.outcome === 'unchanged' ? walkedAgain(terms, unchanged) : walk(terms, cache, pulse);
      if (!('bytes' in outcome)) throw new Error(`the walk came to nothing: ${outcome.outcome}`);
      knownBytes = outcome.bytes;
      cache.flush();
      passTick(data);
      // A walk tells of each directory and of its end; a signature once.
      return { ...outcome, isRead: visited > 1 };
    },
  };
}
