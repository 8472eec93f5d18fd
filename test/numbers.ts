/** Random numbers that a seed repeats. */

export type Numbers = (below: number) => number;

/** Whole numbers from 0 to below a bound (mulberry32). */
export function numbersFrom(start: number): Numbers {
  let state = start;
  return below => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

export function oneOf<Item>(items: readonly Item[], random: Numbers): Item {
  const item = items[random(items.length)];
  if (item === undefined) throw new Error('nothing to choose from');
  return item;
}
