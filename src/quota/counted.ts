/** What one rule counts of the bytes that bear on an action, and what its limit leaves. */

import { forgivenUnder, type Garbage } from './garbage.ts';
import type { CompiledRule } from './policy.ts';
import { type Load, reservedUnder } from './reserved.ts';
import type { QuotaSettings } from './settings.ts';
import { bytesUnder } from './usage.ts';

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

/** Tells whether sizes count against `burstBytes`. */
export function isBurst(settings: QuotaSettings): boolean {
  return settings.burstBytes !== null && !settings.precise;
}

/** The bytes that a rule counts, and those that its limit leaves. */
export interface Counted {
  /** The bytes that count, with those reserved, without those forgiven and those about to be added. */
  readonly used: number;
  /** Those of them that are reserved, and not measured yet. */
  readonly reserved: number;
  /** Where `burstBytes` counts: those that actions under way are expected to add. */
  readonly underWay: number;
  readonly garbage: Garbage | null;
  readonly headroom: number;
}

/** Counts by one rule. Where `burstBytes` counts, the headroom is what it leaves, if that is less. */
export function countedBy(settings: QuotaSettings, rule: CompiledRule, load: Load): Counted {
  const { usage, reserved, unreachable, addingBytes } = load;
  const stored = bytesUnder(usage, rule.counts);
  const garbage = unreachable === null ? null : forgivenUnder(settings, rule, unreachable, stored);
  const measured = garbage?.billed ?? stored;
  const isExpectedUsed = settings.precise;
  let promised = 0;
  let expected = 0;
  if (reserved !== null) {
    promised = reservedUnder(reserved.claimed, rule.counts);
    expected = reservedUnder(reserved.expected, rule.counts);
  }
  const used = Math.min(measured + promised + (isExpectedUsed ? expected : 0), Number.MAX_SAFE_INTEGER);
  const left = headroom(rule.limitBytes, used);
  const underWay = isBurst(settings) ? expected : 0;
  const room = isBurst(settings) ? left + (settings.burstBytes ?? 0) - underWay - addingBytes : left;
  return { used, reserved: used - measured, underWay, garbage, headroom: Math.min(left, room) };
}
