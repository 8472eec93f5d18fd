/** Moments: milliseconds since 1970 in the daemon, ISO 8601 on the wire, null where there is none. */

export function isoTime<Time extends number | null>(time: Time): Time extends null ? null : string;
export function isoTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** Reads what a schema has found to be a moment; null where none was given. */
export function momentOf(iso: string | null | undefined): number | null {
  return iso === null || iso === undefined ? null : Date.parse(iso);
}
