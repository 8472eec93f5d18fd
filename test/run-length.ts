/**
 * Length of a run: `npm run test:long` goes through all, and an ordinary run through a part of what would
 * take long.
 */

export const isLong = process.env.SOFTQUOTA_LONG === '1';

/** All of them in a long run; the first, and from there on every `apart`-th, in an ordinary one. */
export function some<T>(all: readonly T[], apart: number): readonly T[] {
  return isLong ? all : all.filter((_, at) => at % apart === 0);
}
