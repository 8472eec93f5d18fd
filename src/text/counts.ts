/** Counts, moments and spans of time: for people, for programs, and as administrators write them. */

import type { Parsed } from '../parsed.ts';

/** Gives `1,204`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** Gives `1 repository`, `3 repositories`. */
export function counted(count: number, one: string, many: string): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** Formats milliseconds since 1970, to the second: `2026-12-22 14:00:05 UTC`. */
export function formatMoment(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

const spans = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 } as const;

/** Formats milliseconds since 1970, up to the next minute: `14:20 UTC` within a day, else with the date. */
export function formatMinute(time: number, now: number): string {
  const minute = new Date(Math.ceil(time / 60_000) * 60_000).toISOString();
  const [day, clock] = [minute.slice(0, 10), minute.slice(11, 16)];
  return `${time - now < spans.d ? '' : `${day} `}${clock} UTC`;
}

/** Writes a time in milliseconds since 1970 in ISO 8601; null stays null. */
export function isoTime<Time extends number | null>(time: Time): Time extends null ? null : string;
export function isoTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** Reads an ISO 8601 time that a schema has checked, as milliseconds since 1970; null if none was given. */
export function momentOf(iso: string | null | undefined): number | null {
  return iso === null || iso === undefined ? null : Date.parse(iso);
}

export const longestDurationMs = 36_500 * spans.d;

/** Reads a duration up to a hundred years: a whole number above 0 and s, m, h, d or w, such as `90d`. */
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

/** Writes a duration of whole seconds in the largest unit that gives a whole number. */
export function writeDuration(milliseconds: number): string {
  const unit = Object.entries(spans).find(([, span]) => milliseconds % span === 0) ?? ['s', spans.s];
  return `${milliseconds / unit[1]}${unit[0]}`;
}
