/** The order in which things were created, which lists keep. */

import { z } from 'zod';

export const place = z.number().int();

interface Placed {
  readonly place: number;
}

export function inOrder<T extends Placed>(
  entries: Iterable<readonly [string, T]>,
): readonly (readonly [string, T])[] {
  return [...entries].sort(([, a], [, b]) => a.place - b.place);
}

/** Behind all that are there. */
export function nextPlace(placed: Iterable<Placed>): number {
  let last = 0;
  for (const { place: at } of placed) last = Math.max(last, at);
  return last + 1;
}

/** Behind all of a kind. */
export function nextPlaceAmong(entries: Iterable<readonly [string, Placed]>): number {
  return nextPlace([...entries].map(([, placed]) => placed));
}
