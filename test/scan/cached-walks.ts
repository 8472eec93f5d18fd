/** Walks of one unit, one after the other, with a cache and a clock that is an hour late. */

import { join } from 'node:path';
import type { Test } from 'tap';
import type { Unit } from '../../src/layout/index.ts';
import { Cache, prepareCache } from '../../src/scan/signature.ts';
import type { Walked, WalkRequest } from '../../src/scan/task.ts';
import { walk } from '../../src/scan/walk.ts';
import { passTick } from './late.ts';
import { temporary, walkRequest } from './world.ts';

export interface CachedWalks {
  readonly cache: Cache;
  readonly cacheFile: string;
  /**
   * Walks with the bytes of the walk before as those that are known, unless the request says otherwise.
   * `isRead`: no signature stood for it.
   */
  walk(request?: Partial<WalkRequest>): Walked & { readonly isRead: boolean };
}

export function cachedWalks(t: Test, unit: Unit): CachedWalks {
  const data = temporary(t);
  const cacheFile = join(data, 'scan.db');
  prepareCache(cacheFile);
  const cache = new Cache(cacheFile, why => t.fail(why));
  t.teardown(() => cache.close());
  let knownBytes: number | null = null;
  return {
    cache,
    cacheFile,
    walk: (request = {}) => {
      let visited = 0;
      const pulse = () => {
        visited += 1;
      };
      const outcome = walk(walkRequest(unit, { knownBytes, ...request }), cache, pulse);
      if (outcome === null) throw new Error('the unit has gone');
      knownBytes = outcome.bytes;
      cache.flush();
      passTick(data);
      // A walk tells of each directory and of its end; a signature once.
      return { ...outcome, isRead: visited > 1 };
    },
  };
}
