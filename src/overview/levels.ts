/**
 * Nearness to a limit: a level for each kind of data, and the state of an owner, which is that of the kind in
 * the worst one. Levels have some play downwards, so that small changes there change no level.
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
/** Over a limit, and let through by its grace; or below it by so little that nothing is told of it. */
export const atLimit: Level = 101;
export const refusing: Level = 102;

/** An owner's, in the order of `leaves`. */
export type Levels = readonly Level[];

export const lowest: Levels = quota.leaves.map(() => belowAll);

/** A threshold is left again below this part of it. */
const play = 0.98;

/** Level in other settings: a threshold that is gone counts as the next one below. */
export function inForce({ warnAt }: Limits, level: Level): Level {
  if (level === belowAll || level >= atLimit) return level;
  return warnAt.findLast(percent => percent <= level) ?? belowAll;
}

/** Level after this decision, for something that stood at a level in force. */
export function nextLevel(settings: Limits, decision: quota.Decision, last: Level): Level {
  if (decision.by !== 'rule' || decision.limit === -1) return belowAll;
  const { used, limit } = decision;
  // With limit 0, nothing stored is no news.
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

/** Only leaves that are not at the lowest stand in it. */
export function levelText(levels: Levels): string {
  const high = quota.leaves.map((leaf, index) => [leaf, levels[index] ?? belowAll] as const);
  return JSON.stringify(Object.fromEntries(high.filter(([, level]) => level !== belowAll)));
}

/** Reads levels. What is none, or of an unknown leaf, is the lowest: at worst something is told once more. */
export function levelsIn(text: string): Levels {
  const byLeaf = fieldsIn(text);
  return quota.leaves.map(leaf => {
    const level = byLeaf[leaf];
    return typeof level === 'number' && level > belowAll && level <= refusing ? level : belowAll;
  });
}

/** By the group and the rule that limits its members together; those at the lowest are not in it. */
export type PoolLevels = ReadonlyMap<string, ReadonlyMap<string, Level>>;

const levelOfPool = z.tuple([z.string(), z.string(), z.number().min(belowAll).max(refusing)]);
const levelsOfPools = z.array(levelOfPool).catch([]);

export function poolLevelText(levels: PoolLevels): string {
  const pools = [...levels].flatMap(([group, rules]) =>
    [...rules].map(([rule, level]) => [group, rule, level]),
  );
  return JSON.stringify({ pools });
}

/** Reads levels; what is none counts as the lowest. */
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

/** The states of an owner in one kind of data, the best first; that of the owner is the worst of them. */
const kindStates = ['ok', 'near', 'grace', 'over'] as const;

export type KindState = (typeof kindStates)[number];

/** Nearness of an owner to a limit, with the kind of data that is nearest. */
export interface Nearness {
  readonly state: KindState;
  /** The percentage of the limit, as far as owners are compared by it; -1 without a limit. */
  readonly fullness: number;
}

/**
 * Returns the state that follows from a decision about a kind of data, of which so many bytes are stored.
 * With limit 0 and nothing stored the state is `ok`. Whoever is only warned is near.
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
  /** All that the deciding limit counts together with the kind in the worst state. */
  readonly subject: quota.Subject;
}

/**
 * Judges a decision about a kind of data, of which so many bytes are stored; where the limit of a group is
 * nearer, by that one.
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

/** The kind of data that is refused, else the nearest to its limit; of those alike the first. */
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

/** The deciding rule's subject that the kind is of; itself where no rule decides. */
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
  // A kind that may not be stored, and is not, tells less of an owner than any other.
  if (a.fullness === b.fullness) return a.decision.allowed && !b.decision.allowed;
  return a.fullness > b.fullness;
}

/** Returns the percentage of the limit. At limit 0, any stored byte makes an owner fuller than all others. */
export function fullnessOf({ by, used, limit }: quota.Decision, storedBytes: number): number {
  if (by === 'no_match') return storedBytes > 0 ? Number.MAX_VALUE : -1;
  if (limit === 0) return used > 0 ? Number.MAX_VALUE : -1;
  return limit === -1 ? -1 : Math.floor((used / limit) * 100);
}

/** An owner's usage, and what decides about it; null where the bytes cannot be added up. */
export function decidedOwner(
  ledger: Pick<Ledger, 'ownerUsage' | 'stateDeciderFor'>,
  ownerKey: string,
  hasPools = true,
) {
  try {
    const owner = ledger.ownerUsage(ownerKey);
    // Each kind may fit, and all together not.
    quota.bytesUnder(owner.usage, quota.leafMask('size:all'));
    // Reserved bytes may never come, and change nobody's state.
    return { owner, decide: ledger.stateDeciderFor(owner, hasPools) };
  } catch (error) {
    if (error instanceof SoftquotaError && error.code === 'sum_too_large') return null;
    throw error;
  }
}
