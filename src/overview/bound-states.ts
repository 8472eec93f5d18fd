/** The states of pools and of repositories by the limits that they have, without what is reserved. */

import type { Ledger, OwnerUsage } from '../ledger/index.ts';
import * as quota from '../quota/index.ts';
import { fullnessOf, isWorse, type KindState, type Nearness, stateOfKind } from './levels.ts';

type RuledDecision = quota.RuledAllowed | quota.RuledRefused;

interface PoolState {
  readonly rule: quota.Rule;
  readonly decision: RuledDecision;
  readonly state: KindState;
}

/**
 * The rules of a group that limit its members together, by name. `member`: whose share and allowance are
 * asked for. Throws `sum_too_large`.
 */
export function poolStates(
  ledger: Pick<Ledger, 'pooledBytes' | 'settings'>,
  group: quota.Group,
  member: OwnerUsage | null,
): readonly PoolState[] {
  if (group.rules.every(({ per }) => per !== 'group')) return [];
  const { settings } = ledger;
  const asked = { settings, pool: ledger.pooledBytes(group.name), member };
  return quota
    .decidePools(group, asked)
    .map(({ rule, decision }) => ({ rule, decision, state: stateOf(settings, decision) }))
    .sort((a, b) => (a.rule.name < b.rule.name ? -1 : 1));
}

export interface LimitedRepository extends Nearness {
  /** As refusals name it. */
  readonly unit: string;
  readonly owner: string;
  readonly decision: RuledDecision;
}

type RepositoryLedger = Pick<Ledger, 'owners' | 'repositoriesOf' | 'settings' | 'standing'>;

/** All repositories of this host that have a limit of their own. null: see `filterMapInSlices`. */
export function* limitedRepositories(ledger: RepositoryLedger): Generator<LimitedRepository | null> {
  const { settings } = ledger;
  for (const owner of ledger.owners()) {
    yield null;
    const standing = quota.repositoryBoundsIn(ledger.standing(owner));
    if (standing === null) continue;
    const { usage } = owner;
    for (const found of ledger.repositoriesOf(owner)) {
      if (found === null) {
        yield null;
        continue;
      }
      const { repository, leaf } = found;
      const lfs: quota.Leaf = 'size:git:lfs';
      const stored = (repository.usage[quota.leafIndex(lfs)] ?? 0) > 0 ? [leaf, lfs] : [leaf];
      const decisions = stored.map(subject =>
        quota.decideByRepository({ settings, standing, usage, subject, repository }),
      );
      const [worst] = decisions
        .filter(decision => decision !== null)
        .map(decision => ({
          decision,
          state: stateOf(settings, decision),
          fullness: fullnessOf(decision, 0),
        }))
        .sort((a, b) => (isWorse(a, b) ? -1 : Number(isWorse(b, a))));
      yield worst === undefined ? null : { unit: repository.name, owner: owner.name, ...worst };
    }
  }
}

/** Nothing has a limit while quotas are switched off. */
function stateOf(settings: quota.QuotaSettings, decision: RuledDecision): KindState {
  return settings.enabled ? stateOfKind(settings, decision, 0) : 'ok';
}
