/** The state of an owner: that of the kind of data that is in the worst one. */

import type { OwnerUsage } from '../ledger/index.ts';
import {
  type Decision,
  type Leaf,
  leafIndex,
  leafMask,
  leaves,
  type QuotaSettings,
  type Subject,
} from '../quota/index.ts';
import { atLimit, belowAll, nextLevel } from './levels.ts';

type Limits = Pick<QuotaSettings, 'warnAt'>;

/**
 * Returns the state that follows from a decision about a kind of data, of which so many bytes are stored.
 * With limit 0 and nothing stored the state is `ok`.
 */
export function stateOfKind(settings: Limits, decision: Decision, storedBytes: number): KindState {
  if (decision.by === 'no_match') return storedBytes > 0 ? 'over' : 'ok';
  const level = nextLevel(settings, decision, belowAll);
  if (level >= atLimit) return decision.allowed ? 'grace' : 'over';
  return level === belowAll ? 'ok' : 'near';
}

interface WorstKind {
  /** All that the deciding limit counts together with the kind in the worst state. */
  readonly subject: Subject;
  readonly decision: Decision;
  readonly state: KindState;
  /** The percentage of the limit, as far as owners are compared by it. */
  readonly fullness: number;
}

/** The kind of data that is refused, else the nearest to its limit; of those alike the first. */
export function worstKind(
  settings: Limits,
  decide: (subject: Subject) => Decision,
  { usage }: Pick<OwnerUsage, 'usage'>,
): WorstKind {
  const kindOf = (leaf: Leaf): WorstKind => {
    const decision = decide(leaf);
    const stored = usage[leafIndex(leaf)] ?? 0;
    return {
      subject: countedWith(leaf, decision),
      decision,
      state: stateOfKind(settings, decision, stored),
      fullness: fullnessOf(decision, stored),
    };
  };
  const [first, ...others] = leaves;
  return others.map(kindOf).reduce((worst, kind) => (isWorse(kind, worst) ? kind : worst), kindOf(first));
}

/** The deciding rule's subject that the kind is of; itself where no rule decides. */
function countedWith(leaf: Leaf, { subjects }: Decision): Subject {
  let wide: Subject = leaf;
  for (const subject of subjects) if (subject !== 'none' && isWithin(wide, subject)) wide = subject;
  return wide;
}

function isWithin(inner: Subject, outer: Subject): boolean {
  return (leafMask(inner) & ~leafMask(outer)) === 0;
}

function isWorse(a: WorstKind, b: WorstKind): boolean {
  if (a.state !== b.state) return kindStates.indexOf(a.state) > kindStates.indexOf(b.state);
  // A kind that may not be stored, and is not, tells less of an owner than any other.
  if (a.fullness === b.fullness) return a.decision.allowed && !b.decision.allowed;
  return a.fullness > b.fullness;
}

/** The states of an owner in one kind of data, the best first; that of the owner is the worst of them. */
export const kindStates = ['ok', 'near', 'grace', 'over'] as const;

export type KindState = (typeof kindStates)[number];

/**
 * Returns the percentage of the limit. With limit 0, any stored byte makes an owner fuller than all others.
 */
function fullnessOf({ by, used, limit }: Decision, storedBytes: number): number {
  if (by === 'no_match') return storedBytes > 0 ? Number.MAX_VALUE : noLimit;
  if (limit === 0) return used > 0 ? Number.MAX_VALUE : noLimit;
  return limit === -1 ? noLimit : Math.floor((used / limit) * 100);
}

const noLimit = -1;
