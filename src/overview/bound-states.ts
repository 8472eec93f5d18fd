/** The states of groups and repositories by their bounds, without reserved bytes. */

import type { Ledger, OwnerUsage } from '../ledger/index.ts';
import * as quota from '../quota/index.ts';
import { isWorse, judgedKind, type Nearness } from './levels.ts';

type RuledDecision = quota.RuledAllowed | quota.RuledRefused;

interface JudgedBound extends Nearness {
  readonly decision: RuledDecision;
}

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

type RepositoryLedger = Pick<Ledger, 'repositoriesOf' | 'settings' | 'standing'>;

/** Yields the repositories of this host with a limit per repository, with nulls as in `filterMapInSlices`. */
export function* limitedRepositories(
  ledger: RepositoryLedger,
  owners: Iterable<OwnerUsage>,
): Generator<LimitedRepository | null> {
  const { settings } = ledger;
  for (const owner of owners) {
    yield null;
    const standing = ledger.standing(owner);
    if (!quota.hasBounds(standing, ['repository'])) continue;
    const { usage } = owner;
    for (const found of ledger.repositoriesOf(owner)) {
      if (found === null) {
        yield null;
        continue;
      }
      const { repository, leaf } = found;
      const kinds = repository.usage[quota.leafIndex(lfs)] === 0 ? [leaf] : [leaf, lfs];
      let worst: JudgedBound | null = null;
      for (const subject of kinds) {
        const decision = quota.decideByRepository({ settings, standing, usage, subject, repository });
        const judged = decision && judgedBound(settings, decision);
        if (judged !== null && (worst === null || isWorse(judged, worst))) worst = judged;
      }
      yield worst === null ? null : { unit: repository.name, owner: owner.name, ...worst };
    }
  }
}

/** Judges a bound. While quotas are switched off, the state is always `ok`. */
function judgedBound(settings: quota.QuotaSettings, decision: RuledDecision): JudgedBound {
  const { state, fullness } = judgedKind(settings, decision, 0);
  return { decision, state: settings.enabled ? state : 'ok', fullness };
}
