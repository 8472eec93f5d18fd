/** The subjects of entries in the shared store's log. */

import type { Change, Position } from '../store/index.ts';

/** The version of the policy after it; 0: it is no change of policy. */
export function versionOf(change: Change): number {
  return change.is === 'policy' ? change.position.version : 0;
}

/** The owners that a change is about; null among them: it is not told. */
export function keysIn(change: Change): readonly (string | null)[] {
  if (change.is !== 'policy') return [];
  if (change.change === null) return [null];
  const { owners = [], goneOwners = [] } = change.change;
  return [...owners.map(({ key }) => key), ...goneOwners];
}

/** The mark that a version has among the changes; null: it is older. */
export function markIn(changes: readonly Change[], known: Position | null): string | null {
  for (const change of changes) {
    if (change.is !== 'policy' || change.position.generation !== known?.generation) continue;
    if (change.position.version === known.version) return change.position.mark;
  }
  return null;
}
