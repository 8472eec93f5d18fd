/** Moments for people, the same for readers in all time zones. */

/** Milliseconds since 1970 to the second: `2026-12-22 14:00:05 UTC`. */
export function formatMoment(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
