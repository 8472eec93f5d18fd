/** Adds up stores of which no walk can tell an owner. */

import { lstatSync, readdirSync } from 'node:fs';
import { systemCode } from '../../errors.ts';
import { decodePath, encodePath } from '../../layout/index.ts';
import type { StorePlace } from './recognised.ts';

export interface FoundStore extends StorePlace {
  /** The number of regular files that were looked at. */
  readonly bytes: number;
  /** Tells whether all were: nothing was unreadable, and there was time. */
  readonly whole: boolean;
}

/**
 * Sizes each within its share of `budgetMs`, since a store may have millions of files and the figure only
 * informs.
 */
export function sizeStores(places: readonly StorePlace[], budgetMs: number): readonly FoundStore[] {
  return places.map(place => ({
    ...place,
    ...sizeOf(place.path, performance.now() + budgetMs / places.length),
  }));
}

function sizeOf(directory: string, deadline: number): Pick<FoundStore, 'bytes' | 'whole'> {
  const waiting = [directory];
  let bytes = 0;
  let whole = true;
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (performance.now() > deadline) return { bytes, whole: false };
    try {
      for (const entry of readdirSync(encodePath(path), { withFileTypes: true, encoding: 'buffer' })) {
        const inside = `${path}/${decodePath(entry.name)}`;
        if (entry.isDirectory()) waiting.push(inside);
        if (!entry.isFile()) continue;
        bytes += lstatSync(encodePath(inside)).size;
      }
    } catch (error) {
      if (systemCode(error) === null) throw error;
      whole = false;
    }
  }
  return { bytes, whole };
}
