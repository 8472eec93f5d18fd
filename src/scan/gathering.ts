/**
 * Gathers what a walker reads from the cache and writes into it: many small reads or writes take little
 * longer together than one of them alone.
 *
 * Little is gathered at a time, since the cache's log grows with it. If a thread ends before it has written,
 * the next walks of these units read everything.
 */

import type { Cache } from './cache.ts';
import type { Signature } from './signature.ts';

interface GatheringCache extends Cache {
  /** Reads the signatures that will be asked for next. */
  readAhead(units: readonly string[]): void;
  /** Writes what is gathered. */
  flush(): void;
}

/** In directories, of which each takes some twenty bytes. */
const mostGathered = 5000;

export function gathering(cache: Cache): GatheringCache {
  let writes: (() => void)[] = [];
  let gathered = 0;
  let ahead = new Map<string, Signature>();

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
    readAhead: units => {
      ahead = units.length === 0 ? new Map() : cache.readSmallSignatures(units);
    },
    readSignature: unit => ahead.get(unit) ?? cache.readSignature(unit),
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
