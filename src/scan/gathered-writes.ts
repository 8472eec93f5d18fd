/**
 * Gathers what a walker writes into the cache: many small writes take as long together as one of them alone.
 *
 * Little is gathered at a time, since the cache's log grows with it. If a thread ends before it has written, the
 * next walks of these units read everything.
 */

import type { Cache } from './cache.ts';

export interface GatheringCache extends Cache {
  /** Writes what is gathered. */
  flush(): void;
}

/** In directories, of which each takes some twenty bytes. */
const mostGathered = 5000;

export function gathering(cache: Cache): GatheringCache {
  let writes: (() => void)[] = [];
  let gathered = 0;

  function gather(directories: number, write: () => void): void {
    writes.push(write);
    gathered += directories;
    if (gathered >= mostGathered) flush();
  }

  function flush(): void {
    if (writes.length === 0) return;
    const all = writes;
    writes = [];
    gathered = 0;
    cache.together(() => {
      for (const write of all) write();
    });
  }

  return {
    ...cache,
    write: (unit, sums) => gather(sums.names.length, () => cache.write(unit, sums)),
    writeSignature: (unit, signature) =>
      gather(signature.names.length, () => cache.writeSignature(unit, signature)),
    close: () => {
      flush();
      cache.close();
    },
    flush,
  };
}
