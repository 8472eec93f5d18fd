/**
 * Takes the owners and units of an earlier process from the store, with the keys by which names of owners
 * compare now.
 *
 * `[users] CASE` may have changed since they were written. Owners whose names are the same now become one:
 * the one known longest. Of two reported units that are the same now, the later report counts.
 */

import type { OwnerRecord, UnitRecord } from '../store/index.ts';
import type { LedgerParts } from './options.ts';
import { reportedId } from './reports.ts';
import type { Walks } from './walks.ts';

export function loadOwners({ usage, writeBehind }: LedgerParts, kept: readonly OwnerRecord[]): void {
  const { owners } = usage;
  const rekeyed = new Set<string>();
  for (const { key: keyBefore, id, name, type, since } of kept) {
    const owner = { key: owners.keyOf(name), id, name, type, since };
    if (owner.key !== keyBefore) rekeyed.add(owner.key);
    const other = owners.byKey(owner.key);
    if (other === undefined || isKnownLonger(owner, other)) owners.set(owner);
  }
  if (rekeyed.size === 0) return;
  writeBehind.note({
    goneOwners: kept.map(({ key }) => key).filter(key => owners.byKey(key) === undefined),
    owners: [...rekeyed].flatMap(key => owners.byKey(key) ?? []),
  });
}

/**
 * Gives the last place in the order of walks and reports that a unit has. Units that have another id by now
 * are written once all were read, for one that is still to be read may be the same by now; and before anybody
 * can report it anew.
 */
export async function loadUnits(
  { usage, writeBehind }: LedgerParts,
  walks: Walks,
  kept: AsyncIterable<readonly UnitRecord[]>,
): Promise<number> {
  let lastSeq = 0;
  const renamed = new Map<string, string>();
  for await (const some of kept) {
    for (const each of some) {
      lastSeq = Math.max(lastSeq, each.seq);
      const unit = rekeyedUnit(walks.loaded(each), name => usage.owners.keyOf(name));
      if (unit.id !== each.id) renamed.set(each.id, unit.id);
      const other = unit.kind === 'reported' ? usage.unit(unit.id) : undefined;
      if (other === undefined || other.seq < unit.seq) walks.put(unit);
    }
  }
  for (const [before, now] of renamed) {
    const unit = usage.unit(now);
    writeBehind.note({ goneUnits: [before], units: unit === undefined ? [] : [unit] });
  }
  await writeBehind.kept();
  return lastSeq;
}

/** Gives the unit with the id that it has by now: the same one if names compare as before. */
function rekeyedUnit(unit: UnitRecord, keyOf: (ownerName: string) => string): UnitRecord {
  if (unit.kind === 'walked' || unit.owner === null) return unit;
  const id = reportedId(keyOf(unit.owner), unit.leaf, unit.name);
  return id === unit.id ? unit : { ...unit, id };
}

function isKnownLonger(a: OwnerRecord, b: OwnerRecord): boolean {
  return a.since < b.since || (a.since === b.since && a.name < b.name);
}
