/**
 * Grace: an owner a little over a limit gets warnings for some time before refusals begin.
 *
 * Each limit has its own grace, which begins when the owner is first seen over the limit, and ends when the
 * owner is below it again. While it runs, the limit refuses only usage from limit + GRACE_MOST on. A limit of
 * 0 has no grace, since it means that the owner may not store this at all.
 */

import type { Parsed } from '../parsed.ts';
import { parseSize, writeSize } from '../text.ts';

/** The amount by which a limit may be passed: in bytes, or in percent of the limit. */
export type GraceMost = { readonly bytes: number } | { readonly percent: number };

const usualGraceMost: GraceMost = { percent: 10 };

export interface GraceTerms {
  /** Milliseconds; 0: no grace; absent: as configured. */
  readonly graceMs?: number;
  /** Absent: as configured. */
  readonly graceMost?: GraceMost;
}

export interface GraceSettings {
  /** Milliseconds; null or absent: no grace. */
  readonly graceMs?: number | null;
  /** Absent: 10 %. */
  readonly graceMost?: GraceMost;
}

/** A grace that has begun, because an owner was seen over a limit. */
export interface RunningGrace {
  /** Milliseconds since 1970. */
  readonly since: number;
  /**
   * True if the limit only reports, so that the owner was not warned. When it refuses, the grace begins anew.
   */
  readonly isReported: boolean;
}

export interface Graces {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** By the name of the rule; null is the built-in one. */
  readonly begun: ReadonlyMap<string | null, RunningGrace>;
}

export interface Grace {
  /** The time at which refusals begin, or began, in milliseconds since 1970. */
  readonly until: number;
  /** Usage from here on is refused at any time; above the limit. */
  readonly below: number;
}

interface LimitedRule extends GraceTerms {
  /** Null for the built-in one. */
  readonly name: string | null;
  readonly limitBytes: number;
  /** With `warn` there is no grace, since the rule refuses nothing. */
  readonly mode?: string;
  /** Only limits of owners and of groups have a grace. */
  readonly per?: string;
}

/**
 * Returns how far and until when the owner may pass this limit; null: it has no grace. `isTold`: the limit
 * refuses, and does not only report. Without `graces`, which have the time, there is no grace.
 */
export function graceOf(
  settings: GraceSettings,
  rule: LimitedRule,
  graces: Graces | undefined,
  isTold: boolean,
): Grace | null {
  const terms = graces === undefined ? null : termsOf(settings, rule);
  if (graces === undefined || terms === null) return null;
  const begun = graces.begun.get(rule.name);
  const since = begun === undefined || (isTold && begun.isReported) ? graces.now : begun.since;
  const below = Math.min(rule.limitBytes + mostBytes(terms.most, rule.limitBytes), Number.MAX_SAFE_INTEGER);
  return { until: since + terms.ms, below };
}

export function termsOf(
  settings: GraceSettings,
  { graceMs, graceMost, limitBytes, mode, per = 'owner' }: Omit<LimitedRule, 'name'>,
): { readonly ms: number; readonly most: GraceMost } | null {
  const ms = graceMs ?? settings.graceMs ?? 0;
  const most = graceMost ?? settings.graceMost ?? usualGraceMost;
  if (mode === 'warn' || (per !== 'owner' && per !== 'group')) return null;
  return limitBytes <= 0 || ms === 0 || mostBytes(most, limitBytes) === 0 ? null : { ms, most };
}

/** Rounds up to whole bytes. Exact, even if `limit * percent` would pass 2^53. */
function mostBytes(most: GraceMost, limitBytes: number): number {
  if ('bytes' in most) return most.bytes;
  const hundredth = Math.floor(limitBytes / 100);
  const rest = limitBytes % 100;
  return Math.min(Math.ceil(hundredth * most.percent + (rest * most.percent) / 100), Number.MAX_SAFE_INTEGER);
}

/** Tells whether the grace of rule `a` is never more generous than that of rule `b`. */
export function isNoMoreGrace(settings: GraceSettings, a: LimitedRule, b: LimitedRule): boolean {
  const one = termsOf(settings, a);
  if (one === null) return true;
  const other = termsOf(settings, b);
  if (other === null || one.ms > other.ms) return false;
  if ('bytes' in one.most) return 'bytes' in other.most && one.most.bytes <= other.most.bytes;
  return 'percent' in other.most && one.most.percent <= other.most.percent;
}

const percentPattern = /^(\d{1,4}(?:\.\d{1,3})?) ?%$/;

/** Parses GRACE_MOST: percent of a limit, above 0 and up to 1000, or a size. */
export function parseGraceMost(text: string): Parsed<GraceMost> {
  const [, percent] = percentPattern.exec(text.trim()) ?? [];
  if (percent !== undefined) {
    const value = Number(percent);
    return value > 0 && value <= 1000
      ? { ok: true, value: { percent: value } }
      : { ok: false, problem: value > 0 ? 'above 1000 %' : 'not above 0' };
  }
  const size = parseSize(text);
  if (!size.ok) return size;
  return size.value > 0 ? { ok: true, value: { bytes: size.value } } : { ok: false, problem: 'not above 0' };
}

/** Writes GRACE_MOST in the form that `parseGraceMost` reads. */
export function graceMostText(most: GraceMost): string {
  return 'percent' in most ? `${most.percent} %` : writeSize(most.bytes);
}
