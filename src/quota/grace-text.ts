/** GRACE_MOST as administrators write it: `10 %`, `5G`. */

import { longestDurationMs, parseSize, writeSize } from '../text/index.ts';
import type { GraceMost } from './grace.ts';

export type ParsedGraceMost =
  | { readonly ok: true; readonly most: GraceMost }
  /** `reason` completes `GRACE_MOST = "much": …`. */
  | { readonly ok: false; readonly reason: string };

export const longestGraceMs = longestDurationMs;

const percentPattern = /^(\d{1,4}(?:\.\d{1,3})?) ?%$/;

/** Reads per cent of a limit, up to 1000, or a size. */
export function parseGraceMost(text: string): ParsedGraceMost {
  const [, percent] = percentPattern.exec(text.trim()) ?? [];
  if (percent !== undefined) {
    const value = Number(percent);
    return value > 0 && value <= 1000
      ? { ok: true, most: { percent: value } }
      : { ok: false, reason: value > 0 ? 'above 1000 %' : 'not above 0' };
  }
  const size = parseSize(text);
  if (!size.ok) return size;
  return size.bytes > 0 ? { ok: true, most: { bytes: size.bytes } } : { ok: false, reason: 'not above 0' };
}

/** Gives what `parseGraceMost` reads as the same. */
export function graceMostText(most: GraceMost): string {
  return 'percent' in most ? `${most.percent} %` : writeSize(most.bytes);
}
