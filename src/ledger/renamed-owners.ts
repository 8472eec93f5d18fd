/**
 * Finds owners who may have been renamed on the disk alone: they are in groups, have lost their last unit,
 * and within a day of that a new owner appeared who has units and lacks one of these groups.
 */

import { assignedGroups } from '../policy/index.ts';
import type { LintFinding } from '../quota/index.ts';
import type { OwnerRecord } from '../store/index.ts';
import { printable } from '../text.ts';
import type { Ledger } from './ledger.ts';
import { forgeSource } from './usage-index.ts';

const dayMs = 86_400_000;

/** Number of newcomers that are compared with one owner. */
const mostLookedAt = 100;

export function renamedOwners({
  documents,
  sources,
  units,
  walks,
}: Pick<Ledger, 'documents' | 'sources' | 'units' | 'walks'>): readonly LintFinding[] {
  // A forge reports renames itself.
  if (sources.report(forgeSource) !== undefined) return [];
  const { owners, snapshot } = documents;
  const left = [...walks.emptied]
    .flatMap(([key, at]) => {
      const owner = owners.byKey(key);
      if (owner === undefined || units.unitCountOf(key) > 0) return [];
      const groups = assignedGroups(snapshot, owner.id);
      return groups.length === 0 ? [] : [{ name: owner.name, groups, at }];
    })
    .sort((a, b) => a.at - b.at);
  const [first] = left;
  if (first === undefined) return [];
  const newcomers = [...owners.all]
    .filter(({ key, since }) => since >= first.at - dayMs && units.unitCountOf(key) > 0)
    .sort((a, b) => a.since - b.since);
  const groupsOf = new Map<number, readonly string[]>();
  let next = 0;
  return left.flatMap(({ name, groups, at }) => {
    while ((newcomers[next]?.since ?? at) < at) next += 1;
    for (const { id, name: to } of nearestFirst(newcomers, next, at)) {
      const others = groupsOf.get(id) ?? assignedGroups(snapshot, id);
      groupsOf.set(id, others);
      if (groups.some(group => !others.includes(group))) return [findingOf(name, groups, to)];
    }
    return [];
  });
}

/** Yields newcomers within a day of a moment, the nearest first. `next` is the first one who came later. */
function* nearestFirst(newcomers: readonly OwnerRecord[], next: number, at: number): Generator<OwnerRecord> {
  let [before, after] = [next - 1, next];
  for (let looked = 0; looked < mostLookedAt; looked += 1) {
    const [earlier, later] = [newcomers[before], newcomers[after]];
    const isEarlier =
      earlier !== undefined && (later === undefined || at - earlier.since <= later.since - at);
    const nearest = isEarlier ? earlier : later;
    if (nearest === undefined || Math.abs(nearest.since - at) > dayMs) return;
    yield nearest;
    if (isEarlier) before -= 1;
    else after += 1;
  }
}

function findingOf(from: string, groups: readonly string[], to: string): LintFinding {
  const named = groups.map(group => `"${printable(group)}"`).join(', ');
  const message = `Owner "${printable(from)}" is in ${named} and has no units any more, and "${printable(to)}" came within a day of that: perhaps the owner was renamed on the disk.`;
  return { code: 'perhaps_renamed', message };
}
