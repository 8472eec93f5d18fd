/**
 * Levels: how near something is to a limit, with some play downwards, so that small changes there change no
 * level.
 */

import {
  type Decision,
  type Leaf,
  leafIndex,
  leaves,
  type QuotaSettings,
  reachedThreshold,
} from '../quota/index.ts';
import { fieldsIn } from './record.ts';

/** 0: below all thresholds; 1 to 100: the highest threshold reached, in percent; `atLimit`; `refusing`. */
export type Level = number;

export const belowAll: Level = 0;
/** Over a limit, and let through by its grace; or below it by so little that nothing is told of it. */
export const atLimit: Level = 101;
/** Refused by a limit. */
export const refusing: Level = 102;

/** An owner's, in the order of `leaves`. */
export type Levels = readonly Level[];

export const lowest: Levels = leaves.map(() => belowAll);

/** A threshold is left again below this part of it. */
const play = 0.98;

/** Level in other settings: a threshold that is gone counts as the next one below. */
export function inForce({ warnAt }: Pick<QuotaSettings, 'warnAt'>, level: Level): Level {
  if (level === belowAll || level >= atLimit) return level;
  return warnAt.findLast(percent => percent <= level) ?? belowAll;
}

/** Level after this decision, for something that stood at a level in force. */
export function nextLevel(settings: Pick<QuotaSettings, 'warnAt'>, decision: Decision, last: Level): Level {
  if (decision.by !== 'rule' || decision.limit === -1) return belowAll;
  const { used, limit } = decision;
  // With limit 0, nothing stored is no news.
  if (limit === 0) return used > 0 ? refusing : belowAll;
  const { allowed, grace } = decision;
  const threshold = reachedThreshold(settings, decision) ?? belowAll;
  const reached = !allowed ? refusing : grace !== undefined ? atLimit : threshold;
  if (last <= reached) return reached;
  const isHeld = (percent: number) => used / limit >= (percent / 100) * play;
  const isRefusalHeld = grace === undefined || used >= grace.below * play;
  const heldAtLimit = isRefusalHeld ? refusing : atLimit;
  const held = isHeld(100) ? heldAtLimit : (settings.warnAt.findLast(isHeld) ?? belowAll);
  return Math.max(reached, Math.min(last, held));
}

/** Only leaves that are not at the lowest stand in it. */
export function levelText(levels: Levels): string {
  const high = leaves.map((leaf, index) => [leaf, levels[index] ?? belowAll] as const);
  return JSON.stringify(Object.fromEntries(high.filter(([, level]) => level !== belowAll)));
}

/**
 * Reads levels. Anything that is no level, or of an unknown leaf, counts as the lowest: at the worst
 * something is told once more.
 */
export function levelsIn(text: string): Levels {
  const byLeaf = fieldsIn(text);
  return leaves.map(leaf => {
    const level = byLeaf[leaf];
    return typeof level === 'number' && level > belowAll && level <= refusing ? level : belowAll;
  });
}

export function levelOf(levels: Levels, leaf: Leaf): Level {
  return levels[leafIndex(leaf)] ?? belowAll;
}
