/**
 * Changes the records of the store to the keys by which names of owners compare now.
 *
 * `[users] CASE` may have changed since they were written. Owners whose names are the same now become one:
 * the one known longest. Of two reported units that are the same now, the later report counts.
 */

import type { Leaf } from '../quota/index.ts';
import type { OwnerRecord, StoredRecords, UnitRecord } from '../store/index.ts';

/** The identity of a reported unit. */
export function reportedId(ownerKey: string, leaf: Leaf, name: string): string {
  return `${ownerKey}\0${leaf}\0${name}`;
}

export interface Rekeyed {
  readonly owners: readonly OwnerRecord[];
  readonly units: readonly UnitRecord[];
  /** The changes for the store; all empty if names compare as before. */
  readonly goneOwners: readonly string[];
  readonly goneUnits: readonly string[];
  readonly changedOwners: readonly OwnerRecord[];
  readonly changedUnits: readonly UnitRecord[];
}

export function rekeyed(kept: StoredRecords, keyOf: (ownerName: string) => string): Rekeyed {
  const owners = byKey(kept.owners, ({ name }) => keyOf(name), isKnownLonger);
  const units = byKey(
    kept.units.map(unit => {
      if (unit.kind === 'walked' || unit.owner === null) return unit;
      const id = reportedId(keyOf(unit.owner), unit.leaf, unit.name);
      return id === unit.id ? unit : { ...unit, id };
    }),
    unit => unit.id,
    (a, b) => a.seq > b.seq,
  );
  const now = [...owners].map(([key, owner]) => (owner.key === key ? owner : { ...owner, key }));
  const ownersBefore = new Set(kept.owners);
  const unitsBefore = new Set(kept.units);
  return {
    owners: now,
    units: [...units.values()],
    goneOwners: kept.owners.map(({ key }) => key).filter(key => !owners.has(key)),
    goneUnits: kept.units.map(({ id }) => id).filter(id => !units.has(id)),
    changedOwners: now.filter(owner => !ownersBefore.has(owner)),
    changedUnits: [...units.values()].filter(unit => !unitsBefore.has(unit)),
  };
}

/** The preferred item of each key. */
function byKey<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  isPreferred: (a: Item, b: Item) => boolean,
): Map<string, Item> {
  const found = new Map<string, Item>();
  for (const item of items) {
    const key = keyOf(item);
    const other = found.get(key);
    if (other === undefined || isPreferred(item, other)) found.set(key, item);
  }
  return found;
}

function isKnownLonger(a: OwnerRecord, b: OwnerRecord): boolean {
  return a.since < b.since || (a.since === b.since && a.name < b.name);
}
