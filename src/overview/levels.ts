/**
 * Nearness to a limit: a level for each leaf, and the state of an owner, which is the worst of all leaves.
 * Levels fall only after some margin, so that small changes around a threshold do not change them.
 */

import { z } from 'zod';
import { SoftquotaError } from '../errors.ts';
import { given } from '../given.ts';
import type { Ledger, OwnerUsage } from '../ledger/index.ts';
import * as quota from '../quota/index.ts';
import { fieldsIn } from './event-shapes.ts';

type Limits = Pick<quota.QuotaSettings, 'warnAt'>;

/** 0: below all thresholds; 1 to 100: the highest threshold reached, in percent; `atLimit`; `refusing`. */
export type Level = number;

export const belowAll: Level = 0;
/** Over a limit and allowed by its grace, or so little below the limit that the level has not fallen yet. */
export const atLimit: Level = 101;
export const refusing: Level = 102;

/** The levels of an owner, in the order of `leaves`. */
export type Levels = readonly Level[];

export const lowest: Levels = quota.leaves.map(() => belowAll);

/** The level falls when usage is below this part of the threshold. */
const play = 0.98;

/** Returns a stored level under the current thresholds: a removed threshold counts as the next one below. */
export function inForce({ warnAt }: Limits, level: Level): Level {
  if (level === belowAll || level >= atLimit) return level;
  return warnAt.findLast(percent => percent <= level) ?? belowAll;
}

/** Returns the level after a decision. `last` is the level before, under the current thresholds. */
export function nextLevel(settings: Limits, decision: quota.Decision, last: Level): Level {
  if (decision.by !== 'rule' || decision.limit === -1) return belowAll;
  const { used, limit } = decision;
  // With limit 0 and nothing stored, there is nothing to report.
  if (limit === 0) return used > 0 ? refusing : belowAll;
  const { allowed, grace } = decision;
  const threshold = quota.reachedThreshold(settings, decision) ?? belowAll;
  const reached = !allowed ? refusing : grace !== undefined ? atLimit : threshold;
  if (last <= reached) return reached;
  const isHeld = (percent: number) => used / limit >= (percent / 100) * play;
  const isRefusalHeld = grace === undefined || used >= grace.below * play;
  const heldAtLimit = isRefusalHeld ? refusing : atLimit;
  const { warnAt = settings.warnAt } = decision;
  const held = isHeld(100) ? heldAtLimit : (warnAt.findLast(isHeld) ?? belowAll);
  return Math.max(reached, Math.min(last, held));
}

/** Writes levels, without leaves at the lowest level. */
export function levelText(levels: Levels): string {
  const high = quota.leaves.map((leaf, index) => [leaf, levels[index] ?? belowAll] as const);
  return JSON.stringify(Object.fromEntries(high.filter(([, level]) => level !== belowAll)));
}

/** Reads levels. An invalid one counts as the lowest; at worst an event is repeated. */
export function levelsIn(text: string): Levels {
  const byLeaf = fieldsIn(text);
  return quota.leaves.map(leaf => {
    const level = byLeaf[leaf];
    return typeof level === 'number' && level > belowAll && level <= refusing ? level : belowAll;
  });
}

/** Levels by group and by rule for its members together, without rules at the lowest level. */
export type PoolLevels = ReadonlyMap<string, ReadonlyMap<string, Level>>;

const levelOfPool = z.tuple([z.string(), z.string(), z.number().min(belowAll).max(refusing)]);
const levelsOfPools = z.array(levelOfPool).catch([]);

export function poolLevelText(levels: PoolLevels): string {
  const pools = [...levels].flatMap(([group, rules]) =>
    [...rules].map(([rule, level]) => [group, rule, level]),
  );
  return JSON.stringify({ pools });
}

/** Reads levels; returns none if the text is invalid. */
export function poolLevelsIn(text: string): PoolLevels {
  const pools = levelsOfPools.parse(fieldsIn(text).pools);
  const byGroup = Map.groupBy(pools, ([group]) => group);
  return new Map(
    [...byGroup].map(([group, rules]) => [group, new Map(rules.map(([, rule, level]) => [rule, level]))]),
  );
}

export function levelOf(levels: Levels, leaf: quota.Leaf): Level {
  return levels[quota.leafIndex(leaf)] ?? belowAll;
}

/** The states of an owner in one leaf, the best first; the state of the owner is the worst of all leaves. */
const kindStates = ['ok', 'near', 'grace', 'over'] as const;

export type KindState = (typeof kindStates)[number];

/** The nearness to a limit. */
export interface Nearness {
  readonly state: KindState;
  /** The used percentage of the limit, for comparisons; -1 without a limit. */
  readonly fullness: number;
}

/**
 * Returns the state by a decision about a leaf with `storedBytes`. With limit 0 and nothing stored the state
 * is `ok`. Over a limit that only warns, it is `near`.
 */
function stateOfKind(settings: Limits, decision: quota.Decision, storedBytes: number): KindState {
  if (decision.by === 'no_match') return storedBytes > 0 ? 'over' : 'ok';
  const level = nextLevel(settings, decision, belowAll);
  if (level >= atLimit) return decision.allowed ? 'grace' : 'over';
  const { warned } = decision;
  const isWarned = warned !== undefined && (warned.limit !== 0 || warned.used > 0);
  return level === belowAll && !isWarned ? 'ok' : 'near';
}

interface WorstKind extends JudgedKind {
  /** The largest subject of the deciding rule that contains the worst leaf. */
  readonly subject: quota.Subject;
}

/**
 * Judges a decision about a leaf with `storedBytes`. If a bound of a group is nearer, judges by that bound.
 */
export function judgedKind(settings: Limits, decision: quota.Decision, storedBytes: number): JudgedKind {
  const judged = (by: quota.Decision): JudgedKind => ({
    decision: by,
    state: stateOfKind(settings, by, storedBytes),
    fullness: fullnessOf(by, storedBytes),
  });
  const { near = [], reported, warned } = decision;
  return near
    .filter(({ per }) => per === 'group')
    .map(pool => judged({ ...pool, ...given({ reported, warned }) }))
    .reduce((worst, pool) => (isWorse(pool, worst) ? pool : worst), judged(decision));
}

/** Returns the worst leaf: by state, then by fullness; of equal ones the first. */
export function worstKind(
  settings: Limits,
  decide: (subject: quota.Subject) => quota.Decision,
  { usage }: Pick<OwnerUsage, 'usage'>,
): WorstKind {
  const kindOf = (leaf: quota.Leaf): WorstKind => {
    const judged = judgedKind(settings, decide(leaf), usage[quota.leafIndex(leaf)] ?? 0);
    return { subject: countedWith(leaf, judged.decision), ...judged };
  };
  const [first, ...others] = quota.leaves;
  return others.map(kindOf).reduce((worst, kind) => (isWorse(kind, worst) ? kind : worst), kindOf(first));
}

/** Returns the largest subject of the deciding rule that contains the leaf; without a rule, the leaf. */
function countedWith(leaf: quota.Leaf, { subjects }: quota.Decision): quota.Subject {
  let wide: quota.Subject = leaf;
  for (const subject of subjects)
    if (subject !== 'none' && (quota.leafMask(wide) & ~quota.leafMask(subject)) === 0) wide = subject;
  return wide;
}

export interface JudgedKind extends Nearness {
  readonly decision: quota.Decision;
}

export function isWorse(a: JudgedKind, b: JudgedKind): boolean {
  if (a.state !== b.state) return kindStates.indexOf(a.state) > kindStates.indexOf(b.state);
  // Among equally full leaves, an allowed one says more than a forbidden leaf without bytes.
  if (a.fullness === b.fullness) return a.decision.allowed && !b.decision.allowed;
  return a.fullness > b.fullness;
}

/** Returns the used percentage of the limit. At limit 0, any stored byte is fuller than all else. */
export function fullnessOf({ by, used, limit }: quota.Decision, storedBytes: number): number {
  if (by === 'no_match') return storedBytes > 0 ? Number.MAX_VALUE : -1;
  if (limit === 0) return used > 0 ? Number.MAX_VALUE : -1;
  return limit === -1 ? -1 : Math.floor((used / limit) * 100);
}

/** Returns an owner's usage and a function that decides by it; null: the bytes cannot be added up. */
export function decidedOwner(
  ledger: Pick<Ledger, 'ownerUsage' | 'stateDeciderFor'>,
  ownerKey: string,
  hasPools = true,
) {
  try {
    const owner = ledger.ownerUsage(ownerKey);
    // Throws if all leaves together pass 2^53 - 1, although each leaf may fit.
    quota.bytesUnder(owner.usage, quota.leafMask('size:all'));
    // Reserved bytes may never come, so they do not count here.
    return { owner, decide: ledger.stateDeciderFor(owner, hasPools) };
  } catch (error) {
    if (error instanceof SoftquotaError && error.code === 'sum_too_large') return null;
    throw error;
  }
}
