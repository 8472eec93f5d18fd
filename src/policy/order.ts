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

/** A place behind `last`: the one that it has, where that is such a one. */
export function nextInOrder(last: number, place: number | undefined): number {
  return Math.max(last + 1, place ?? 0);
}

/** A place for each, in this order; whoever is in order already stays where they are. */
export function placesInOrder(
  keys: Iterable<string>,
  placeOf: (key: string) => number | undefined,
): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  let last = 0;
  for (const key of keys) {
    if (places.has(key)) continue;
    last = nextInOrder(last, placeOf(key));
    places.set(key, last);
  }
  return places;
}
