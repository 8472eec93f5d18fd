/** Spans of time in milliseconds, as administrators write them. */

import type { Parsed } from '../parsed.ts';

const spans = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 } as const;

export const longestDurationMs = 36_500 * spans.d;

/** Reads a whole number above 0 and s, m, h, d or w, such as `90d`, up to a hundred years. */
export function parseDuration(text: string): Parsed<number> {
  const match = /^\s*(\d{1,10})\s*([wdhms])\s*$/.exec(text);
  const unit = Object.entries(spans).find(([letter]) => letter === match?.[2]);
  const milliseconds = match === null || unit === undefined ? 0 : Number(match[1]) * unit[1];
  if (milliseconds > 0 && milliseconds <= longestDurationMs) return { ok: true, value: milliseconds };
  return {
    ok: false,
    problem: milliseconds > longestDurationMs ? 'longer than a hundred years' : 'not a duration',
  };
}

/** Writes whole seconds in the largest unit that says them exactly. */
export function writeDuration(milliseconds: number): string {
  const unit = Object.entries(spans).find(([, span]) => milliseconds % span === 0) ?? ['s', spans.s];
  return `${milliseconds / unit[1]}${unit[0]}`;
}
