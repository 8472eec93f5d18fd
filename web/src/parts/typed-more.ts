/** Amount and end of a request or a grant, as typed. */

import { parseSize } from '../../../src/text/index.ts';

/** The typed text. */
export interface TypedMore {
  readonly size: string;
  /** `2027-01-31`. */
  readonly lastDay: string;
}

/** Null while it cannot be taken. The last day counts to its end, where the reader is. */
export function moreIn({
  size,
  lastDay,
}: TypedMore): { readonly bytes: number; readonly until: string } | null {
  const parsed = parseSize(size);
  const end = new Date(`${lastDay}T23:59:59`);
  if (!parsed.ok || parsed.value < 1 || Number.isNaN(end.getTime())) return null;
  return { bytes: parsed.value, until: end.toISOString() };
}
