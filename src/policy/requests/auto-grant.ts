/** `[requests] AUTO_GRANT`: small requests that the configuration grants, so that nobody has to wait. */

import type { RequestDocument } from './kinds.ts';
import type { RequestEntry } from './list.ts';

/** `2G for 30d, once in 90d`. */
export interface AutoGrant {
  /** The most that is granted. */
  readonly bytes: number;
  /** Milliseconds that it is granted for, at most. */
  readonly forMs: number;
  /** Once in so many milliseconds for each owner. */
  readonly everyMs: number;
}

/** People ask to the end of a day: that may pass the time by so much, and is granted for the time itself. */
const dayMs = 86_400_000;

/**
 * Gives until when a request is granted by itself; null: it is not, and waits for an administrator. `before`
 * are the owner's requests before it.
 */
export function automaticUntil(
  { bytes, forMs, everyMs }: AutoGrant,
  asked: Pick<RequestDocument, 'bytes' | 'until'>,
  before: readonly RequestEntry[],
  now: number,
): number | null {
  const latest = now + forMs;
  const until = asked.until ?? latest;
  if (asked.bytes > bytes || until > latest + dayMs) return null;
  const isUsed = before.some(([, { answer }]) => answer?.automatic === true && answer.at > now - everyMs);
  return isUsed ? null : Math.min(until, latest);
}
