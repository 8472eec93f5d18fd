/**
 * Judges an action by one rule, and picks the rule that speaks for a group, and the group that speaks for the
 * owner.
 *
 * A rule counts bytes, and allows, refuses, or lets through by its grace. Without graces the order of
 * headrooms says it all: a rule that refuses has less than any that allows. What no ref of a repository
 * reaches is forgiven up to a most, by each limit for itself, of what it counts: so what an owner stores
 * under a limit never passes the limit and the most together, whatever is said to be unreachable.
 */

import { type Grace, type Graces, graceOf, isLetThrough } from './grace.ts';
import type { BuiltinGroup, CompiledGroup, CompiledRule, QuotaSettings } from './policy.ts';
import { bytesUnder, cappedBytesUnder, type Usage } from './subjects.ts';

/** The answer of a rule or a group, the worst first. */
const verdicts = ['refuses', 'graced', 'allows'] as const;

export type RuleVerdict = (typeof verdicts)[number];

/** Bytes that are stored by an owner, by the members of a group together, or in a repository. */
export interface Stored {
  readonly usage: Usage;
  /** Null: none, which is the usual case. */
  readonly reserved: readonly ReservedBytes[] | null;
  /** Those of `usage` that no ref reaches; null: none, or they are not forgiven. */
  readonly unreachable: Usage | null;
  /** A sum that passes 2^53 - 1 stands at that; absent: it is an error. */
  readonly isCapped?: boolean;
}

/** All that a rule is judged by: settings, stored bytes and those that an action brings, and graces. */
export interface Judging extends Stored {
  readonly settings: QuotaSettings;
  /** 0 or more. */
  readonly addingBytes: number;
  readonly graces: Graces | undefined;
  /** Owners are told what limits refuse; see `graceOf`. */
  readonly isTold: boolean;
}

/** Bytes of an owner that are promised to uploads and not measured yet: they count as used. */
export interface ReservedBytes {
  /** The leaves that they may come under, as in `leafMask`. */
  readonly mask: number;
  readonly bytes: number;
}

export interface CountedRule {
  readonly rule: CompiledRule;
  /** The bytes that count, with those reserved, without those forgiven and those about to be added. */
  readonly used: number;
  /** Those of them that are reserved, and not measured yet. */
  readonly reserved: number;
  readonly garbage: Garbage | null;
  /** Infinite without a limit, and the lowest of all for limit 0. */
  readonly headroom: number;
  readonly verdict: RuleVerdict;
  /** Grace of the limit if it is passed and has one, else null. */
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
  // Unlike usage + adding, both sides are always exact.
  const isPassed = settings.refuseWhen === 'reached' ? headroom <= adding : headroom < adding;
  if (!isPassed) return { ...counted, verdict: 'allows', grace: null };
  const grace = graceOf(settings, rule, graces, judging.isTold);
  const isGraced =
    grace !== null && graces !== undefined && isLetThrough(grace, graces, limitBytes, headroom, adding);
  return { ...counted, verdict: isGraced ? 'graced' : 'refuses', grace };
}

/** Judges by a rule that limits what comes; -1: no limit. */
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
 * Gives the covering rule of a group that decides: of those with the worst verdict the one with the least
 * headroom, or whose grace ends first; ties by name. Null: none covers it.
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

/** Gives the deciding rule of those groups with the best verdict, ties by the group's name; null: none. */
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

/** Below 0 where `a` is stricter than `b`, above 0 where it leaves more. */
function compared(a: CountedRule, b: CountedRule): number {
  if (a.verdict !== b.verdict) return verdicts.indexOf(a.verdict) - verdicts.indexOf(b.verdict);
  if (a.verdict === 'graced' && a.grace?.until !== b.grace?.until) {
    return (a.grace?.until ?? 0) - (b.grace?.until ?? 0);
  }
  // Two infinities have no difference.
  return a.headroom < b.headroom ? -1 : Number(a.headroom > b.headroom);
}

/** Puts the rule first that is the strictest, ties by the names of groups. */
export function byStrictness(a: DecidingRule, b: DecidingRule): number {
  return compared(a, b) || (before(a.group, b.group) ? -1 : 1);
}

/** Null, the built-in group's name, never stands beside another. */
function before(a: string | null, b: string | null): boolean {
  return a !== null && b !== null && a < b;
}

/** The bytes of these leaves, with those reserved, at most 2^53 - 1. */
export function bytesWithReserved({ usage, reserved }: Stored, counts: number): number {
  const promised = reserved === null ? 0 : reservedUnder(reserved, counts);
  return Math.min(bytesUnder(usage, counts) + promised, Number.MAX_SAFE_INTEGER);
}

function storedUnder({ isCapped = false }: Stored, usage: Usage, counts: number): number {
  return isCapped ? cappedBytesUnder(usage, counts) : bytesUnder(usage, counts);
}

/** The bytes that may come under one of these leaves, at most 2^53 - 1. */
function reservedUnder(list: readonly ReservedBytes[], counts: number): number {
  let sum = 0;
  for (const { mask, bytes } of list) if ((mask & counts) !== 0) sum += bytes;
  return Math.min(sum, Number.MAX_SAFE_INTEGER);
}

/** The stored bytes of which a rule counts some, since others are unreachable. */
export interface Garbage {
  readonly stored: number;
  /** Those of them that no ref reaches. */
  readonly unreachable: number;
  /** Those of them that count: without the unreachable ones, of which at most `most` are forgiven. */
  readonly billed: number;
  readonly most: number;
}

/** Null where nothing is unreachable, or is to be forgiven: without a limit, or at limit 0, all counts. */
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
