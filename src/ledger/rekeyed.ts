/**
 * Changes the records of the store to the keys by which names of owners compare now.
 *
 * `[users] CASE` may have changed since they were written. Owners whose names are the same now become one:
 * the one known longest. Of two reported units that are the same now, the later report counts.
 */

import type { Leaf } from '../quota/index.ts';
import type { OwnerRecord, UnitRecord } from '../store/index.ts';

/** The identity of a reported unit. */
export function reportedId(ownerKey: string, leaf: Leaf, name: string): string {
  return `${ownerKey}\0${leaf}\0${name}`;
}

interface RekeyedOwners {
  readonly owners: readonly OwnerRecord[];
  /** The changes for the store. */
  readonly gone: readonly string[];
  readonly changed: readonly OwnerRecord[];
}

export function rekeyedOwners(
  kept: readonly OwnerRecord[],
  keyOf: (ownerName: string) => string,
): RekeyedOwners {
  const byKey = new Map<string, OwnerRecord>();
  for (const owner of kept) {
    const key = keyOf(owner.name);
    const other = byKey.get(key);
    if (other === undefined || isKnownLonger(owner, other)) byKey.set(key, owner);
  }
  const owners = [...byKey].map(([key, owner]) => (owner.key === key ? owner : { ...owner, key }));
  const before = new Set(kept);
  return {
    owners,
    gone: kept.map(({ key }) => key).filter(key => !byKey.has(key)),
    changed: owners.filter(owner => !before.has(owner)),
  };
}

/** Gives the unit with the id that it has by now: the same one if names compare as before. */
export function rekeyedUnit(unit: UnitRecord, keyOf: (ownerName: string) => string): UnitRecord {
  if (unit.kind === 'walked' || unit.owner === null) return unit;
  const id = reportedId(keyOf(unit.owner), unit.leaf, unit.name);
  return id === unit.id ? unit : { ...unit, id };
}

function isKnownLonger(a: OwnerRecord, b: OwnerRecord): boolean {
  return a.since < b.since || (a.since === b.since && a.name < b.name);
}
