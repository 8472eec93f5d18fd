/**
 * Length of a run: `npm run test:long` goes through all, and an ordinary run through a part of what would
 * take long.
 */

const times = Number(process.env.SOFTQUOTA_LONG ?? 0);

export const isLong = times > 0;

/** Length of a campaign that could go on for ever; `SOFTQUOTA_LONG=10` makes it ten times as long. */
export function lengthOf(ordinary: number, long: number): number {
  return isLong ? Math.ceil(long * times) : ordinary;
}

/** All of them in a long run; the first, and from there on every `apart`-th, in an ordinary one. */
export function some<T>(all: readonly T[], apart: number): readonly T[] {
  return isLong ? all : all.filter((_, at) => at % apart === 0);
}
