/**
 * Judges an action by one rule, and picks the rule that decides for a group, and the group that decides for
 * the owner.
 *
 * A rule counts bytes, and allows, refuses, or allows by its grace. Without graces the headroom alone gives
 * the order: a rule that refuses has less headroom than any that allows. Each limit forgives unreachable
 * bytes among those that it counts, up to a maximum. So the stored bytes under a limit never pass limit +
 * maximum, however many are reported as unreachable.
 */

import { type Grace, type Graces, graceOf, isLetThrough } from './grace.ts';
import type { BuiltinGroup, CompiledGroup, CompiledRule, QuotaSettings } from './policy.ts';
import { bytesUnder, cappedBytesUnder, type Usage } from './subjects.ts';

/** The verdicts of a rule or a group, the strictest first. */
const verdicts = ['refuses', 'graced', 'allows'] as const;

export type RuleVerdict = (typeof verdicts)[number];

/** Bytes that are stored by an owner, by the members of a group together, or in a repository. */
export interface Stored {
  readonly usage: Usage;
  /** Null: none. */
  readonly reserved: readonly ReservedBytes[] | null;
  /** The part of `usage` that no ref reaches; null: none, or it is not forgiven. */
  readonly unreachable: Usage | null;
  /** True: a sum above 2^53 - 1 counts as 2^53 - 1; absent: it is an error. */
  readonly isCapped?: boolean;
}

/** The input for judging a rule: settings, stored bytes, the bytes that an action brings, and graces. */
export interface Judging extends Stored {
  readonly settings: QuotaSettings;
  /** 0 or more. */
  readonly addingBytes: number;
  readonly graces: Graces | undefined;
  /** See `graceOf`. */
  readonly isTold: boolean;
}

/** Bytes that uploads have reserved and that are not measured yet. They count as used. */
export interface ReservedBytes {
  /** The leaves that the bytes may belong to, as in `leafMask`. */
  readonly mask: number;
  readonly bytes: number;
}

export interface CountedRule {
  readonly rule: CompiledRule;
  /** The bytes that count: with reserved bytes, without forgiven ones and those about to be added. */
  readonly used: number;
  /** The reserved part of `used`. */
  readonly reserved: number;
  readonly garbage: Garbage | null;
  /** Infinity without a limit, and -Infinity for limit 0. */
  readonly headroom: number;
  readonly verdict: RuleVerdict;
  /** The grace of a passed limit; null: not passed, or no grace. */
  readonly grace: Grace | null;
}

export function judgedBy(rule: CompiledRule, judging: Judging): CountedRule {
  const { settings, reserved, graces } = judging;
  const { limitBytes, counts } = rule;
  const stored = storedUnder(judging, judging.usage, counts);
  const garbage = forgivenUnder(judging, rule, stored);
  const measured = garbage?.billed ?? stored;
  const promised = reserved === null ? 0 : reservedUnder(reserved, counts);
  const used = Math.min(measured + promised, Number.MAX_SAFE_INTEGER);
  const headroom = headroomOf(limitBytes, used);
  const counted = { rule, used, reserved: used - measured, garbage, headroom };
  const adding = countedAdding(judging);
  // Compares with headroom, since usage + adding may pass 2^53.
  const isPassed = settings.refuseWhen === 'reached' ? headroom <= adding : headroom < adding;
  if (!isPassed) return { ...counted, verdict: 'allows', grace: null };
  const grace = graceOf(settings, rule, graces, judging.isTold);
  const isGraced =
    grace !== null && graces !== undefined && isLetThrough(grace, graces, limitBytes, headroom, adding);
  return { ...counted, verdict: isGraced ? 'graced' : 'refuses', grace };
}

/** Judges by a rule that limits incoming bytes. */
export function judgedByIncoming(rule: CompiledRule, bytes: number): CountedRule {
  const headroom = rule.limitBytes === -1 ? Number.POSITIVE_INFINITY : rule.limitBytes - bytes;
  const verdict = headroom < 0 ? 'refuses' : 'allows';
  return { rule, used: bytes, reserved: 0, garbage: null, headroom, verdict, grace: null };
}

function headroomOf(limitBytes: number, usedBytes: number): number {
  if (limitBytes === -1) return Number.POSITIVE_INFINITY;
  if (limitBytes === 0) return Number.NEGATIVE_INFINITY;
  return limitBytes - usedBytes;
}

export function countedAdding({ settings, addingBytes }: Pick<Judging, 'addingBytes' | 'settings'>): number {
  return settings.precise ? addingBytes : 0;
}

export type Judge = (rule: CompiledRule) => CountedRule;

export interface DecidingRule extends CountedRule {
  readonly group: string | null;
}

/**
 * Returns the covering rule that decides for a group: of those with the strictest verdict the one with the
 * least headroom, or whose grace ends first; ties by name. Null: no rule covers the subject.
 */
export function decidingRule(
  group: CompiledGroup | BuiltinGroup,
  asked: number,
  judge: Judge,
): DecidingRule | null {
  let found: CountedRule | null = null;
  for (const rule of group.rules) {
    if ((rule.covers & asked) === 0) continue;
    const judged = judge(rule);
    const order = found === null ? -1 : compared(judged, found);
    if (found === null || order < 0 || (order === 0 && before(rule.name, found.rule.name))) found = judged;
  }
  return found === null ? null : { ...found, group: group.name };
}

/** Returns the deciding rule of the most generous group, ties by the group's name; null: no rule covers. */
export function decidingAmong(
  groups: readonly (CompiledGroup | BuiltinGroup)[],
  asked: number,
  judge: Judge,
): DecidingRule | null {
  let found: DecidingRule | null = null;
  for (const group of groups) {
    const deciding = decidingRule(group, asked, judge);
    if (deciding === null) continue;
    const order = found === null ? 1 : compared(deciding, found);
    if (found === null || order > 0 || (order === 0 && before(deciding.group, found.group))) found = deciding;
  }
  return found;
}

/** Compares two rules: below 0 if `a` is stricter than `b`, above 0 if it is more generous. */
function compared(a: CountedRule, b: CountedRule): number {
  if (a.verdict !== b.verdict) return verdicts.indexOf(a.verdict) - verdicts.indexOf(b.verdict);
  if (a.verdict === 'graced' && a.grace?.until !== b.grace?.until) {
    return (a.grace?.until ?? 0) - (b.grace?.until ?? 0);
  }
  // A subtraction would give NaN for two infinities.
  return a.headroom < b.headroom ? -1 : Number(a.headroom > b.headroom);
}

/** Sorts the strictest rule first, ties by the names of groups. */
export function byStrictness(a: DecidingRule, b: DecidingRule): number {
  return compared(a, b) || (before(a.group, b.group) ? -1 : 1);
}

/** Compares names. Null names the built-in group, which is always alone. */
function before(a: string | null, b: string | null): boolean {
  return a !== null && b !== null && a < b;
}

/** Returns the stored and reserved bytes of these leaves, at most 2^53 - 1. Throws `sum_too_large`. */
export function bytesWithReserved({ usage, reserved }: Stored, counts: number): number {
  const promised = reserved === null ? 0 : reservedUnder(reserved, counts);
  return Math.min(bytesUnder(usage, counts) + promised, Number.MAX_SAFE_INTEGER);
}

function storedUnder({ isCapped = false }: Stored, usage: Usage, counts: number): number {
  return isCapped ? cappedBytesUnder(usage, counts) : bytesUnder(usage, counts);
}

/** Returns the reserved bytes that may belong to one of these leaves, at most 2^53 - 1. */
function reservedUnder(list: readonly ReservedBytes[], counts: number): number {
  let sum = 0;
  for (const { mask, bytes } of list) if ((mask & counts) !== 0) sum += bytes;
  return Math.min(sum, Number.MAX_SAFE_INTEGER);
}

/** The stored bytes under a limit, some of which are unreachable. */
export interface Garbage {
  readonly stored: number;
  /** The unreachable part of `stored`. */
  readonly unreachable: number;
  /** The bytes that count: `stored` without unreachable bytes, of which at most `most` are forgiven. */
  readonly billed: number;
  readonly most: number;
}

/** Returns null if no bytes are forgiven: none are unreachable, or the limit is -1 or 0. */
function forgivenUnder(
  judging: Judging,
  { limitBytes, counts }: Pick<CompiledRule, 'limitBytes' | 'counts'>,
  stored: number,
): Garbage | null {
  const { garbage, garbageMostBytes = null } = judging.settings;
  if (judging.unreachable === null || garbage !== 'forgive' || limitBytes <= 0) return null;
  const unreachable = Math.min(storedUnder(judging, judging.unreachable, counts), stored);
  if (unreachable === 0) return null;
  const most = garbageMostBytes ?? limitBytes;
  return { stored, unreachable, billed: stored - Math.min(unreachable, most), most };
}
