/**
 * What waits to be written to the store: of each thing the newest note, `null` saying that it is gone.
 *
 * So what waits is never more than what the ledger holds, and what has gone from it meanwhile.
 */

import type { Changes, OwnerRecord, RootRecord, SweepRecord, UnitRecord } from '../store/index.ts';

type Noted<Key, Item> = Map<Key, Item | null>;

export class Notes {
  /** By key. */
  readonly owners: Noted<string, OwnerRecord> = new Map();
  /** By id. */
  readonly units: Noted<string, UnitRecord> = new Map();
  /** By path. */
  readonly roots: Noted<string, RootRecord> = new Map();
  /** By seq. Those that come are written at once, and never wait. */
  readonly deltas: Noted<number, never> = new Map();
  sweep: SweepRecord | null = null;

  get size(): number {
    const { owners, units, roots, deltas } = this;
    return owners.size + units.size + roots.size + deltas.size + Number(this.sweep !== null);
  }

  /** Moves so many of the oldest notes out. What is said of a whole sweep goes only with the last of all. */
  take(most: number): Notes {
    const taken = new Notes();
    move(this.owners, taken.owners, most);
    move(this.units, taken.units, most - taken.size);
    move(this.roots, taken.roots, most - taken.size);
    move(this.deltas, taken.deltas, most - taken.size);
    if (taken.size < most) {
      taken.sweep = this.sweep;
      this.sweep = null;
    }
    return taken;
  }

  /** Takes back what could not be written, but for what is noted anew since. */
  putBack(older: Notes): void {
    addMissing(this.owners, older.owners);
    addMissing(this.units, older.units);
    addMissing(this.roots, older.roots);
    addMissing(this.deltas, older.deltas);
    this.sweep ??= older.sweep;
  }

  get changes(): Changes {
    return {
      owners: present(this.owners),
      goneOwners: gone(this.owners),
      units: present(this.units),
      goneUnits: gone(this.units),
      roots: present(this.roots),
      goneRoots: gone(this.roots),
      goneDeltas: gone(this.deltas),
      ...(this.sweep === null ? {} : { sweep: this.sweep }),
    };
  }
}

function move<Key, Item>(from: Noted<Key, Item>, to: Noted<Key, Item>, most: number): void {
  if (most <= 0) return;
  for (const [key, item] of from) {
    to.set(key, item);
    from.delete(key);
    if (to.size >= most) return;
  }
}

function addMissing<Key, Item>(notes: Noted<Key, Item>, older: Noted<Key, Item>): void {
  for (const [key, item] of older) if (!notes.has(key)) notes.set(key, item);
}

function present<Key, Item>(notes: Noted<Key, Item>): Item[] {
  return [...notes.values()].filter(item => item !== null);
}

function gone<Key, Item>(notes: Noted<Key, Item>): Key[] {
  return [...notes].filter(([, item]) => item === null).map(([key]) => key);
}
