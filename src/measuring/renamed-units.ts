/** Units of owners whose directories a forge has renamed together with them. */

import type { Ledger, OwnerRename } from '../ledger/index.ts';

/** Has the units count under their new paths, for the new names; gives the new paths, then the old ones. */
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
  // Owners may have exchanged their names: nothing is put until all have left their paths.
  for (const { before } of moved) walks.recordGone(before, seq);
  for (const { path, owner, leaf, bytes, files, partial, measuredAt } of moved) {
    // A walk may have found it there already.
    if (units.unitAt(path)?.name === path) continue;
    walks.record({ path, owner, leaf, bytes, files, partial, measuredAt, seq });
  }
  return [...moved.map(({ path }) => path), ...moved.map(({ before }) => before)];
}

/** The path of `…/owner/name` under another name of the owner, in lower case as forges have it. */
function renamedPath(path: string, from: string, to: string): string {
  const names = path.split('/');
  const at = names.length - 2;
  return names[at] === from.toLowerCase() ? names.with(at, to.toLowerCase()).join('/') : path;
}
