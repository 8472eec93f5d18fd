/** Counts the bytes that bear on an action by one rule, and what its limit leaves. */

import { forgivenUnder, type Garbage } from './garbage.ts';
import type { CompiledRule } from './policy.ts';
import type { QuotaSettings } from './settings.ts';
import { bytesUnder, type Usage } from './usage.ts';

/** Bytes of an owner that are promised to uploads and not measured yet: they count as used. */
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

/** Returns the headroom of a limit in bytes: infinite without a limit, and the lowest of all for limit 0. */
export function headroom(limitBytes: number, usedBytes: number): number {
  if (limitBytes === -1) return Number.POSITIVE_INFINITY;
  if (limitBytes === 0) return Number.NEGATIVE_INFINITY;
  return limitBytes - usedBytes;
}

/**
 * Tells whether so much headroom refuses so many bytes. Unlike usage + adding, both sides are always exact.
 */
export function refuses(settings: QuotaSettings, headroom: number, addingBytes: number): boolean {
  return settings.refuseWhen === 'reached' ? headroom <= addingBytes : headroom < addingBytes;
}

export function countedAdding(settings: QuotaSettings, addingBytes: number): number {
  return settings.precise ? addingBytes : 0;
}

/** The bytes that a rule counts, and those that its limit leaves. */
export interface Counted {
  /** The bytes that count, with those reserved, without those forgiven and those about to be added. */
  readonly used: number;
  /** Those of them that are reserved, and not measured yet. */
  readonly reserved: number;
  readonly garbage: Garbage | null;
  readonly headroom: number;
}

export function countedBy(settings: QuotaSettings, rule: CompiledRule, load: Load): Counted {
  const { usage, reserved, unreachable } = load;
  const stored = bytesUnder(usage, rule.counts);
  const garbage = unreachable === null ? null : forgivenUnder(settings, rule, unreachable, stored);
  const measured = garbage?.billed ?? stored;
  const promised = reserved === null ? 0 : reservedUnder(reserved, rule.counts);
  const used = Math.min(measured + promised, Number.MAX_SAFE_INTEGER);
  return { used, reserved: used - measured, garbage, headroom: headroom(rule.limitBytes, used) };
}

/** The bytes that may come under one of these leaves, at most 2^53 - 1. */
function reservedUnder(list: readonly ReservedBytes[], counts: number): number {
  let sum = 0;
  for (const { mask, bytes } of list) if ((mask & counts) !== 0) sum += bytes;
  return Math.min(sum, Number.MAX_SAFE_INTEGER);
}
