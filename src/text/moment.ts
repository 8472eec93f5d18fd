/** Moments for people, the same for readers in all time zones. */

/** Milliseconds since 1970 to the second: `2026-12-22 14:00:05 UTC`. */
export function formatMoment(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Writes a moment in milliseconds since 1970 as programs read it; null where there is none. */
export function isoTime<Time extends number | null>(time: Time): Time extends null ? null : string;
export function isoTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** Reads what a schema has found to be a moment; null where none was given. */
export function momentOf(iso: string | null | undefined): number | null {
  return iso === null || iso === undefined ? null : Date.parse(iso);
}
