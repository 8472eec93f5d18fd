/**
 * Nearness to a limit: the level of a leaf or of a group, and the states of owners, groups and repositories.
 * The state of an owner is the worst of all leaves. Levels fall only after some margin, so that small changes
 * around a threshold do not change them.
 */

import { given } from '../given.ts';
import type { Ledger, OwnerUsage } from '../ledger/index.ts';
import * as quota from '../quota/index.ts';
import { wholePercent } from '../text.ts';

type Limits = Pick<quota.QuotaSettings, 'warnAt'>;

/** 0: below all thresholds; 1 to 100: the highest threshold reached, in percent; `atLimit`; `refusing`. */
export type Level = number;

export const belowAll: Level = 0;
/** Over a limit and allowed by its grace, or so little below the limit that the level has not fallen yet. */
export const atLimit: Level = 101;
export const refusing: Level = 102;

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

/** The states of an owner in one leaf, the best first; the state of the owner is the worst of all leaves. */
const kindStates = ['ok', 'near', 'grace', 'over'] as const;

type KindState = (typeof kindStates)[number];

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
  const pools = near
    .filter(({ per }) => per === 'group')
    .map(pool => judged({ ...pool, ...given({ reported, warned }) }));
  return worstOf(judged(decision), pools);
}

/**
 * Returns the worst leaf, and the largest subject of the deciding rule that contains it. The worst is so by
 * state, then by fullness; of equal ones it is the first.
 */
export function worstKind(
  settings: Limits,
  decide: (subject: quota.Subject) => quota.Decision,
  { usage }: Pick<OwnerUsage, 'usage'>,
) {
  const kindOf = (leaf: quota.Leaf) => {
    const judged = judgedKind(settings, decide(leaf), usage[quota.leafIndex(leaf)] ?? 0);
    return { subject: countedWith(leaf, judged.decision), ...judged };
  };
  const [first, ...others] = quota.leaves;
  return worstOf(kindOf(first), others.map(kindOf));
}

/** Returns the largest subject of the deciding rule that contains the leaf; without a rule, the leaf. */
function countedWith(leaf: quota.Leaf, { subjects }: quota.Decision): quota.Subject {
  let wide: quota.Subject = leaf;
  for (const subject of subjects)
    if (subject !== 'none' && (quota.leafMask(wide) & ~quota.leafMask(subject)) === 0) wide = subject;
  return wide;
}

interface JudgedKind<Decision = quota.Decision> extends Nearness {
  readonly decision: Decision;
}

/** Returns the worst one: by state, then by fullness; of equal ones the first. */
export function worstOf<Judged extends JudgedKind>(first: Judged, others: readonly Judged[]): Judged {
  return others.reduce((worst, each) => (isWorse(each, worst) ? each : worst), first);
}

function isWorse(a: JudgedKind, b: JudgedKind): boolean {
  if (a.state !== b.state) return kindStates.indexOf(a.state) > kindStates.indexOf(b.state);
  // Among equally full leaves, an allowed one says more than a forbidden leaf without bytes.
  if (a.fullness === b.fullness) return a.decision.allowed && !b.decision.allowed;
  return a.fullness > b.fullness;
}

/** Returns the used percentage of the limit. At limit 0, any stored byte is fuller than all else. */
function fullnessOf({ by, used, limit }: quota.Decision, storedBytes: number): number {
  if (by === 'no_match') return storedBytes > 0 ? Number.MAX_VALUE : -1;
  if (limit === 0) return used > 0 ? Number.MAX_VALUE : -1;
  return limit === -1 ? -1 : wholePercent(used, limit);
}

/** Returns an owner's usage and a function that decides by it; null: the bytes cannot be added up. */
export function decidedOwner(
  ledger: Pick<Ledger, 'ownerUsage' | 'stateDeciderFor'>,
  ownerKey: string,
  hasPools = true,
) {
  return quota.exactly(() => {
    const owner = ledger.ownerUsage(ownerKey);
    // Throws if all leaves together pass 2^53 - 1, although each leaf may fit.
    quota.bytesUnder(owner.usage, quota.leafMask('size:all'));
    // Reserved bytes may never come, so they do not count here.
    return { owner, decide: ledger.stateDeciderFor(owner, hasPools) };
  });
}

type JudgedBound = JudgedKind<quota.RuledAllowed | quota.RuledRefused>;

export interface PoolState extends JudgedBound {
  readonly mode: quota.RuleMode | undefined;
}

/**
 * Returns the states of a group by its rules for all members together, sorted by rule. `member`: the member
 * whose share and allowance count; null: no member in particular.
 */
export function poolStates(
  ledger: Pick<Ledger, 'pools' | 'settings'>,
  group: quota.CompiledGroup,
  member: OwnerUsage | null,
): readonly PoolState[] {
  if (group.rules.every(({ per }) => per !== 'group')) return [];
  const { settings } = ledger;
  return quota
    .decidePools(group, { settings, pool: ledger.pools.of(group.name, null), member })
    .map(({ decision, rule }) => ({ ...judgedBound(settings, decision), mode: rule.mode }))
    .sort((a, b) => ((a.decision.rule ?? '') < (b.decision.rule ?? '') ? -1 : 1));
}

export interface LimitedRepository extends JudgedBound {
  /** The name of the repository, as in refusals. */
  readonly unit: string;
  readonly owner: string;
}

const lfs: quota.Leaf = 'size:git:lfs';

/** Yields the repositories of this host with a limit per repository, with nulls as in `filterMapInSlices`. */
export function* limitedRepositories(
  ledger: Pick<Ledger, 'repositoriesOf' | 'settings' | 'standing'>,
  owners: Iterable<OwnerUsage>,
): Generator<LimitedRepository | null> {
  const { settings } = ledger;
  for (const owner of owners) {
    yield null;
    const standing = ledger.standing(owner);
    // Rules in report mode have no levels.
    if (![standing, standing.warning].some(groups => groups?.scopes?.includes('repository'))) continue;
    const { usage } = owner;
    for (const found of ledger.repositoriesOf(owner)) {
      if (found === null) {
        yield null;
        continue;
      }
      const { repository, leaf } = found;
      const kinds = repository.usage[quota.leafIndex(lfs)] === 0 ? [leaf] : [leaf, lfs];
      const [first, ...others] = kinds.flatMap(subject => {
        const decision = quota.decideByRepository({ settings, standing, usage, subject, repository });
        return decision === null ? [] : [judgedBound(settings, decision)];
      });
      yield first === undefined
        ? null
        : { unit: repository.name, owner: owner.name, ...worstOf(first, others) };
    }
  }
}

/** Judges a bound. While quotas are switched off, the state is always `ok`. */
function judgedBound(settings: quota.QuotaSettings, decision: JudgedBound['decision']): JudgedBound {
  const { state, fullness } = judgedKind(settings, decision, 0);
  return { decision, state: settings.enabled ? state : 'ok', fullness };
}
