/** `[requests] AUTO_GRANT`: small requests that the configuration grants, so that nobody has to wait. */

import type { RequestDocument } from './kinds.ts';
import type { RequestEntry } from './list.ts';

/** `2G for 30d, once in 90d`. */
export interface AutoGrant {
  /** The most that is granted. */
  readonly bytes: number;
  /** For so many milliseconds, at most. */
  readonly forMs: number;
  /** Once in so many milliseconds for each owner. */
  readonly everyMs: number;
}

/**
 * Gives until when a request is granted by itself; null: it is not, and waits for an administrator. `before` are
 * the owner's requests before it.
 */
export function automaticUntil(
  { bytes, forMs, everyMs }: AutoGrant,
  asked: Pick<RequestDocument, 'bytes' | 'until'>,
  before: readonly RequestEntry[],
  now: number,
): number | null {
  const latest = now + forMs;
  if (asked.bytes > bytes || (asked.until !== null && asked.until > latest)) return null;
  const isUsed = before.some(([, { answer }]) => answer?.automatic === true && answer.at > now - everyMs);
  return isUsed ? null : (asked.until ?? latest);
}
