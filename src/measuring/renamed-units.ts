/** Moves units in the ledger after a forge has renamed owners and their directories. */

import type { Ledger, OwnerRename } from '../ledger/index.ts';

/** Records the units under their new paths and owners. Returns the new paths, then the old ones. */
export function moveUnits(
  { units, walks }: Pick<Ledger, 'units' | 'walks'>,
  renames: readonly OwnerRename[],
): readonly string[] {
  const seq = walks.nextSeq();
  const moved = renames.flatMap(({ from, to }) =>
    units.unitsOf(from).flatMap(unit => {
      const path = unit.kind === 'walked' ? renamedPath(unit.name, from, to) : unit.name;
      return path === unit.name ? [] : [{ ...unit, before: unit.name, path, owner: to, seq }];
    }),
  );
  // Owners may have swapped names: all old paths are removed before any new one is recorded.
  for (const { before } of moved) walks.recordGone(before, seq);
  for (const { path, owner, leaf, bytes, files, partial, measuredAt } of moved) {
    // A walk may have found it there already.
    if (units.unitAt(path)?.name === path) continue;
    walks.record({ path, owner, leaf, bytes, files, partial, measuredAt, seq });
  }
  return [...moved.map(({ path }) => path), ...moved.map(({ before }) => before)];
}

/** Returns the path `…/owner/name` with the owner's new name, in lower case as forges store it. */
function renamedPath(path: string, from: string, to: string): string {
  const names = path.split('/');
  const at = names.length - 2;
  return names[at] === from.toLowerCase() ? names.with(at, to.toLowerCase()).join('/') : path;
}
