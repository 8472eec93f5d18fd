/** Bytes of an owner that are promised to uploads and not measured yet: they count as used. */

import type { Usage } from './usage.ts';

export interface ReservedBytes {
  /** The leaves that they may come under, as in `leafMask`. */
  readonly mask: number;
  readonly bytes: number;
}

/** All bytes that bear on an action: those stored, those reserved, and those that it brings. */
export interface Load {
  readonly usage: Usage;
  /** Null: none, which is the usual case. */
  readonly reserved: readonly ReservedBytes[] | null;
  /** Those of `usage` that no ref reaches; null: none, or they are not forgiven. */
  readonly unreachable: Usage | null;
  /** 0 or more. */
  readonly addingBytes: number;
}

/** The bytes that may come under one of these leaves, at most 2^53 - 1. */
export function reservedUnder(list: readonly ReservedBytes[], counts: number): number {
  let sum = 0;
  for (const { mask, bytes } of list) if ((mask & counts) !== 0) sum += bytes;
  return Math.min(sum, Number.MAX_SAFE_INTEGER);
}
