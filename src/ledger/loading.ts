/**
 * Takes the owners and units of an earlier process from the store, some at a time, with the keys by which
 * names of owners compare now.
 *
 * `[users] CASE` may have changed since they were written. Owners whose names are the same now become one:
 * the one known longest. Of two reported units that are the same now, the later report counts.
 */

import type { Loader, OwnerRecord, PackedUnits, UnitRecord } from '../store/index.ts';
import type { LedgerParts } from './options.ts';
import { reportedId } from './reports.ts';
import type { Walks } from './walks.ts';

interface LoadingOptions extends LedgerParts {
  readonly walks: Walks;
}

/** Room for some more than there are, so that the first who comes need not wait until all are moved. */
const roomFactor = 1.25;

export class Loading implements Loader {
  readonly #options: LoadingOptions;
  /** Some owners with keys by which names do not compare any more, and all who came after them. */
  #rekeyed: OwnerRecord[] = [];
  /** The ids of units that have another one by now, with that. */
  readonly #renamed = new Map<string, string>();
  #seq = 0;

  constructor(options: LoadingOptions) {
    this.#options = options;
  }

  /** The last place in the order of walks and reports that a unit has. */
  get seq(): number {
    return this.#seq;
  }

  expect(owners: number, units: number): void {
    this.#options.usage.expect(Math.ceil(roomFactor * owners), Math.ceil(roomFactor * units));
  }

  /** Takes owners whose keys are those by which names compare; see `endOwners`. */
  takeOwners(some: readonly OwnerRecord[]): void {
    const { owners } = this.#options.usage;
    const haveTheirKeys = some.every(({ key, name }) => owners.keyOf(name) === key);
    if (!haveTheirKeys || this.#rekeyed.length > 0) this.#rekeyed.push(...some);
    else for (const owner of some) owners.add(owner);
  }

  /** Takes all others, once all are there: two of them may be the same one by now. */
  endOwners(): void {
    if (this.#rekeyed.length === 0) return;
    const { usage, writeBehind } = this.#options;
    const kept = [...usage.owners.all, ...this.#rekeyed];
    const byKey = new Map<string, OwnerRecord>();
    for (const owner of kept) {
      const key = usage.owners.keyOf(owner.name);
      const other = byKey.get(key);
      if (other === undefined || isKnownLonger(owner, other)) byKey.set(key, owner);
    }
    const gone = kept.map(({ key }) => key).filter(key => !byKey.has(key));
    const owners = [...byKey].map(([key, owner]) => (owner.key === key ? owner : { ...owner, key }));
    const before = new Set(kept);
    writeBehind.note({ goneOwners: gone, owners: owners.filter(owner => !before.has(owner)) });
    for (const owner of owners) usage.owners.set(owner);
    this.#rekeyed = [];
  }

  /** Takes units as they lie; one by one where one of them may have another id by now. */
  take(packed: PackedUnits): void {
    const { usage, walks } = this.#options;
    const units = walks.loadedColumns(packed);
    if (this.#renamed.size === 0 && this.#haveTheirIds(units)) {
      for (const seq of units.columns.seq) this.#seq = Math.max(this.#seq, seq);
      usage.append(units, name => walks.accountFor(name));
      return;
    }
    for (const unit of units) this.#takeUnit(unit);
  }

  /**
   * Units that have another id by now are written once all were read, for one that is still to be read may be
   * the same by now; and before anybody can report it anew.
   */
  async end(): Promise<void> {
    const { usage, writeBehind } = this.#options;
    for (const [before, now] of this.#renamed) {
      const unit = usage.unit(now);
      writeBehind.note({ goneUnits: [before], units: unit === undefined ? [] : [unit] });
    }
    await writeBehind.kept();
  }

  /** Tells whether the ids begin with the keys by which owners compare now. */
  #haveTheirIds({ columns }: PackedUnits): boolean {
    const { owners } = this.#options.usage;
    return columns.names === null && columns.owners.every(owner => owners.keyOf(owner) === owner);
  }

  /** Takes a unit in. If two reported units are the same by now, the later report counts. */
  #takeUnit(kept: UnitRecord): void {
    const { usage, walks } = this.#options;
    this.#seq = Math.max(this.#seq, kept.seq);
    const unit = rekeyedUnit(kept, name => usage.owners.keyOf(name));
    if (unit.id !== kept.id) this.#renamed.set(kept.id, unit.id);
    const other = unit.kind === 'reported' ? usage.unit(unit.id) : undefined;
    if (other !== undefined && other.seq >= unit.seq) return;
    walks.put(unit);
  }
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
