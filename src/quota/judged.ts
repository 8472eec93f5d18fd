/**
 * Judges an action by one rule, picks the rule that decides for a group and the group that decides for the
 * owner, and makes the decision.
 *
 * A rule counts bytes, and allows, refuses, or allows by its grace. Without graces the headroom alone gives
 * the order: a rule that refuses has less headroom than any that allows. Each limit forgives unreachable
 * bytes among those that it counts, up to a maximum. So the stored bytes under a limit never pass limit +
 * maximum, however many are reported as unreachable.
 */

import type {
  BoundDetails,
  BoundedThings,
  Decision,
  DecisionQuestion,
  Garbage,
  PrecedenceStep,
  ReservedBytes,
  RuledAllowed,
  RuledRefused,
  Stored,
} from './decision.ts';
import {
  type BoundScope,
  type CompiledRule,
  compileGroup,
  type Grace,
  type Graces,
  graceOf,
  isOfIncoming,
  type JudgedGroup,
  type QuotaSettings,
  raisedGroup,
  type Standing,
  subjectBit,
} from './policy.ts';
import { bytesUnder, cappedBytesUnder, type Usage } from './subjects.ts';

/** The verdicts of a rule or a group, the strictest first. */
const verdicts = ['refuses', 'graced', 'allows'] as const;

export type RuleVerdict = (typeof verdicts)[number];

/**
 * A question in the form in which rules are judged: settings, stored bytes, the bytes that an action brings,
 * and the groups and graces that count.
 */
export interface Judging extends Stored, BoundedThings {
  readonly settings: QuotaSettings;
  /** 0 or more. */
  readonly addingBytes: number;
  /** The subject, as a `subjectBit`. */
  readonly asked: number;
  readonly standing: Standing;
  readonly graces: Graces | undefined;
  /** See `graceOf`. */
  readonly isTold: boolean;
}

/**
 * Returns a question as it is judged by the groups of `standing`, which may be others than its own.
 * `isTold`: see `graceOf`.
 */
export function judgingOf(
  question: DecisionQuestion,
  standing = question.standing,
  isTold = isEnforced(question.settings),
): Judging {
  const { settings, usage, subject, addingBytes = 0, reserved = null, unreachable = null } = question;
  const { pools, repository, incoming } = question;
  const asked = subjectBit(subject);
  const stored = { usage, reserved, unreachable, pools, repository, incoming };
  return { settings, ...stored, addingBytes, asked, standing, graces: standing.graces, isTold };
}

/** Tells whether refusals take effect. Then owners see them, and their graces run. */
export function isEnforced({ mode }: Pick<QuotaSettings, 'mode'>): boolean {
  return mode === 'enforce';
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
  const isRunning = grace !== null && graces !== undefined && graces.now < grace.until;
  const isGraced = isRunning && headroom + (grace.below - limitBytes) > adding;
  return { ...counted, verdict: isGraced ? 'graced' : 'refuses', grace };
}

function headroomOf(limitBytes: number, usedBytes: number): number {
  if (limitBytes === -1) return Number.POSITIVE_INFINITY;
  if (limitBytes === 0) return Number.NEGATIVE_INFINITY;
  return limitBytes - usedBytes;
}

/** Returns the bytes about to be added that count: 0 unless `precise`. */
export function countedAdding({ settings, addingBytes }: Judging): number {
  return settings.precise ? addingBytes : 0;
}

/** Judges a rule; null: the rule says nothing about the question. */
export type Judge = (rule: CompiledRule) => CountedRule | null;

/** Returns the judge of the owner's stored bytes, which leaves bounds out. */
export function ownerJudge(judging: Judging): Judge {
  return rule => (concerns(rule, judging) ? judgedBy(rule, judging) : null);
}

/** Tells whether a rule covers the subject, and limits what `per` names; absent: the owner's stored bytes. */
export function concerns(rule: CompiledRule, { asked }: Judging, per?: BoundScope): boolean {
  return rule.per === per && (rule.covers & asked) !== 0;
}

export interface DecidingRule extends CountedRule {
  readonly group: string | null;
}

/**
 * Returns the rule that decides for a group: of those with the strictest verdict the one with the least
 * headroom, or whose grace ends first; ties by name. Null: no rule is about the question.
 */
export function decidingRule(group: JudgedGroup, judge: Judge): DecidingRule | null {
  let found: CountedRule | null = null;
  for (const rule of group.rules) {
    const judged = judge(rule);
    if (judged === null) continue;
    const order = found === null ? -1 : compared(judged, found);
    if (found === null || order < 0 || (order === 0 && before(rule.name, found.rule.name))) found = judged;
  }
  return found === null ? null : { ...found, group: group.name };
}

/** Returns the deciding rule of the most generous group, ties by the group's name; null: there is none. */
export function decidingAmong(groups: readonly JudgedGroup[], judge: Judge): DecidingRule | null {
  let found: DecidingRule | null = null;
  for (const group of groups) {
    const deciding = decidingRule(group, judge);
    if (deciding === null) continue;
    const order = found === null ? 1 : compared(deciding, found);
    if (found === null || order > 0 || (order === 0 && before(deciding.group, found.group))) found = deciding;
  }
  return found;
}

const { rules: unlimited } = compileGroup({
  name: '',
  rules: [{ name: '', limitBytes: -1, subjects: ['size:all'] }],
});

/** Returns `[quota.default] TOTAL` as a group with one rule, which covers everything. */
function builtinGroup(totalBytes: number): JudgedGroup {
  return { name: null, rules: unlimited.map(rule => ({ ...rule, name: null, limitBytes: totalBytes })) };
}

/** Returns the groups of a step, with the owner's allowance added to their limits. */
export function groupsAt(step: PrecedenceStep, { settings, standing }: Judging): readonly JudgedGroup[] {
  const groups: readonly JudgedGroup[] =
    step === 'builtin' ? [builtinGroup(settings.totalBytes)] : standing[step];
  return raisedGroups(groups, standing);
}

export function raisedGroups<Group extends JudgedGroup>(
  groups: readonly Group[],
  { allowance }: Standing,
): readonly Group[] {
  return allowance === undefined || allowance === null
    ? groups
    : groups.map(group => raisedGroup(group, allowance));
}

/** Makes the decision of the rule that decides. `details`: those of a bound. */
export function decisionBy(
  step: PrecedenceStep,
  deciding: DecidingRule,
  judging: Judging,
  details: BoundDetails | null = null,
): RuledAllowed | RuledRefused {
  const { group, rule, used, reserved, garbage, verdict, grace } = deciding;
  const limit = rule.limitBytes;
  const plain = {
    by: 'rule',
    step,
    used,
    limit,
    group,
    rule: rule.name,
    subjects: rule.subjects,
    reserved,
    incoming: isOfIncoming(rule) ? 0 : countedAdding(judging),
    ...(rule.warnAt === undefined ? {} : { warnAt: rule.warnAt }),
  } as const;
  const raised = rule.allowance === undefined ? plain : { ...plain, allowance: rule.allowance };
  const forgiven = garbage === null ? raised : { ...raised, garbage };
  const graced = grace === null ? forgiven : { ...forgiven, grace };
  const common = details === null ? graced : { ...graced, ...details };
  // The copied part comes first, since V8 creates an object faster that begins with a copy.
  return verdict === 'refuses' ? { ...common, allowed: false } : { ...common, allowed: true };
}

/**
 * Returns the highest threshold, in percent, that the usage of an allowed owner reaches; null: none, or there
 * is no limit. Exact, even if `used * 100` would pass 2^53.
 */
export function reachedThreshold(
  settings: Pick<QuotaSettings, 'warnAt'>,
  { allowed, used, limit, warnAt = settings.warnAt }: Pick<Decision, 'allowed' | 'used' | 'limit' | 'warnAt'>,
): number | null {
  if (!allowed || used === null || limit === null || limit <= 0) return null;
  const hundredth = Math.floor(limit / 100);
  const rest = limit % 100;
  return warnAt.findLast(percent => used >= hundredth * percent + Math.ceil((rest * percent) / 100)) ?? null;
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
