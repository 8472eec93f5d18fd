/**
 * What waits to be written to the store: of each thing the newest note, `null` saying that it is gone.
 *
 * So what waits is never more than what the ledger holds, what has gone from it meanwhile, and `mostEvents`.
 */

import type {
  Changes,
  EventRecord,
  LevelRecord,
  OwnerRecord,
  RootRecord,
  SweepRecord,
  UnitRecord,
} from '../store/index.ts';

type NotesOf<Key, Item> = Map<Key, Item | null>;

/** Events are no part of what the ledger holds; so many wait at most. */
export const mostEvents = 50_000;

/** What happened, and how near to their limits owners are now. */
export type Noted = Pick<Changes, 'events' | 'goneEventsBefore' | 'levels' | 'goneLevels'>;

export class Notes {
  /** By key. */
  readonly owners: NotesOf<string, OwnerRecord> = new Map();
  /** By id. */
  readonly units: NotesOf<string, UnitRecord> = new Map();
  /** By path. */
  readonly roots: NotesOf<string, RootRecord> = new Map();
  /** By seq. Those that come are written at once, and never wait. */
  readonly deltas: NotesOf<number, never> = new Map();
  sweep: SweepRecord | null = null;
  /** By id. */
  readonly events: NotesOf<string, EventRecord> = new Map();
  /** By owner id. */
  readonly levels: NotesOf<number, LevelRecord> = new Map();
  goneEventsBefore: number | null = null;

  get size(): number {
    const { owners, units, roots, deltas, events, levels } = this;
    const single = Number(this.sweep !== null) + Number(this.goneEventsBefore !== null);
    return owners.size + units.size + roots.size + deltas.size + events.size + levels.size + single;
  }

  /** Gives how many events there was no room for. */
  note({ events = [], goneEventsBefore, levels = [], goneLevels = [] }: Noted): number {
    let left = 0;
    for (const event of events) {
      if (this.events.size < mostEvents || this.events.has(event.id)) this.events.set(event.id, event);
      else left += 1;
    }
    for (const ownerId of goneLevels) this.levels.set(ownerId, null);
    for (const level of levels) this.levels.set(level.ownerId, level);
    this.#goneBefore(goneEventsBefore ?? null);
    return left;
  }

  /** Moves so many of the oldest notes out. What is said of a whole sweep goes only with the last of all. */
  take(most: number): Notes {
    const taken = new Notes();
    move(this.owners, taken.owners, most);
    move(this.units, taken.units, most - taken.size);
    move(this.roots, taken.roots, most - taken.size);
    move(this.deltas, taken.deltas, most - taken.size);
    // What was told comes before that it was told, so that a crash in between has it told again.
    move(this.events, taken.events, most - taken.size);
    move(this.levels, taken.levels, most - taken.size);
    if (taken.size < most) {
      taken.sweep = this.sweep;
      this.sweep = null;
    }
    if (taken.size < most) {
      taken.goneEventsBefore = this.goneEventsBefore;
      this.goneEventsBefore = null;
    }
    return taken;
  }

  /** Takes back what could not be written, but for what is noted anew since. */
  putBack(older: Notes): void {
    addMissing(this.owners, older.owners);
    addMissing(this.units, older.units);
    addMissing(this.roots, older.roots);
    addMissing(this.deltas, older.deltas);
    addMissing(this.events, older.events);
    addMissing(this.levels, older.levels);
    this.sweep ??= older.sweep;
    this.#goneBefore(older.goneEventsBefore);
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
      events: present(this.events),
      levels: present(this.levels),
      goneLevels: gone(this.levels),
      ...(this.sweep === null ? {} : { sweep: this.sweep }),
      ...(this.goneEventsBefore === null ? {} : { goneEventsBefore: this.goneEventsBefore }),
    };
  }

  #goneBefore(time: number | null): void {
    if (time !== null) this.goneEventsBefore = Math.max(time, this.goneEventsBefore ?? time);
  }
}

function move<Key, Item>(from: NotesOf<Key, Item>, to: NotesOf<Key, Item>, most: number): void {
  if (most <= 0) return;
  for (const [key, item] of from) {
    to.set(key, item);
    from.delete(key);
    if (to.size >= most) return;
  }
}

function addMissing<Key, Item>(notes: NotesOf<Key, Item>, older: NotesOf<Key, Item>): void {
  for (const [key, item] of older) if (!notes.has(key)) notes.set(key, item);
}

function present<Key, Item>(notes: NotesOf<Key, Item>): Item[] {
  return [...notes.values()].filter(item => item !== null);
}

function gone<Key, Item>(notes: NotesOf<Key, Item>): Key[] {
  return [...notes].filter(([, item]) => item === null).map(([key]) => key);
}
