/** From claims to what becomes of somebody's quota groups. */

import { quotaGroupsIn, type Synchronization } from '../wire/index.ts';
import { type Claims, namesInClaim } from './claim-names.ts';
import type { SourceDocument } from './kinds.ts';

/** Rules of a source about quota groups. */
export type ClaimRules = Pick<SourceDocument, 'groupClaim' | 'mapping' | 'missingClaim' | 'removal'>;

/**
 * Adds what is mapped and claimed; with removal on, what the mapping names and no claimed group maps to
 * is removed. Groups outside the mapping are never touched, so a claimed group that is taken out of the
 * mapping removes nobody.
 *
 * `current` are the groups that the user is in; `exists` tells whether there is such a quota group.
 */
export function synchronize(
  { groupClaim, mapping, removal, missingClaim }: ClaimRules,
  claims: Claims,
  current: readonly string[],
  exists: (quotaGroup: string) => boolean,
): Synchronization {
  const unchanged = {
    claimed: [],
    groups: sorted(current),
    added: [],
    removed: [],
    skipped: [],
    ignored: [],
  };
  if (groupClaim === null) return { outcome: 'off', ...unchanged };
  const read = namesInClaim(claims, groupClaim);
  if (read.is === 'overage') return { outcome: 'overage', ...unchanged };
  if (read.is === 'absent' && missingClaim === 'keep') return { outcome: 'kept', ...unchanged };
  const { names, ignored } = read.is === 'read' ? read : { names: new Set<string>(), ignored: [] };
  const wanted = quotaGroupsIn(mapping.filter(([claimed]) => names.has(claimed)));
  const here = new Set(current);
  const added = [...wanted].filter(group => !here.has(group) && exists(group));
  const removed = removal
    ? [...quotaGroupsIn(mapping)].filter(group => here.has(group) && !wanted.has(group))
    : [];
  const gone = new Set(removed);
  return {
    outcome: 'synchronized',
    claimed: [...names],
    groups: sorted([...current.filter(group => !gone.has(group)), ...added]),
    added: sorted(added),
    removed: sorted(removed),
    skipped: sorted([...wanted].filter(group => !exists(group))),
    ignored: ignored.map(why => `${groupClaim}: ${why}`),
  };
}

function sorted(names: readonly string[]): readonly string[] {
  return [...names].sort();
}
