/**
 * What waits to be written to the store: of each thing the newest note, `null` saying that it is gone.
 *
 * So what waits is never more than what the ledger holds, what has gone from it meanwhile, and `mostEvents`. What is
 * taken over of a policy goes into one write, with its owners.
 */

import type {
  Adopted,
  Changes,
  DocumentRecord,
  EventRecord,
  LevelRecord,
  OwnerRecord,
  RootRecord,
  ShareRecord,
  SweepRecord,
  UnitRecord,
} from '../store/index.ts';

type NotesOf<Key, Item> = Map<Key, Item | null>;
/** Of what takes two names to be found, by `both` of them. */
type NamedNotesOf<Names, Item> = Map<string, { readonly names: Names; readonly item: Item | null }>;

type DocumentNames = Pick<DocumentRecord, 'kind' | 'key'>;
type ShareNames = Pick<ShareRecord, 'ownerKey' | 'host'>;

/** The same for no other two; quickly made, for a hundred thousand may be noted at once. */
const both = (one: string, other: string) => `${one.length}:${one}${other}`;

/** Events are no part of what the ledger holds; so many wait at most. */
export const mostEvents = 50_000;

/** What happened, and how near to their limits owners are now. */
export type Noted = Pick<Changes, 'events' | 'goneEventsBefore' | 'levels' | 'goneLevels'>;

/** What others changed, and where the policy stands with it. */
export type TakenOver = Pick<Changes, 'documents' | 'goneDocuments' | 'shares' | 'goneShares' | 'adopted'>;

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
  readonly documents: NamedNotesOf<DocumentNames, DocumentRecord> = new Map();
  adopted: Adopted | null = null;
  readonly shares: NamedNotesOf<ShareNames, ShareRecord> = new Map();
  /** By id. */
  readonly events: NotesOf<string, EventRecord> = new Map();
  /** By owner id. */
  readonly levels: NotesOf<number, LevelRecord> = new Map();
  goneEventsBefore: number | null = null;

  get size(): number {
    const maps = [
      this.owners,
      this.documents,
      this.units,
      this.shares,
      this.roots,
      this.deltas,
      this.events,
      this.levels,
    ];
    const single = [this.sweep, this.adopted, this.goneEventsBefore].filter(note => note !== null);
    return maps.reduce((sum, { size }) => sum + size, single.length);
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

  takeOver({ documents = [], goneDocuments = [], shares = [], goneShares = [], adopted }: TakenOver): void {
    const noteDocument = ({ kind, key }: DocumentNames, item: DocumentRecord | null) =>
      this.documents.set(both(kind, key), { names: { kind, key }, item });
    for (const names of goneDocuments) noteDocument(names, null);
    for (const document of documents) noteDocument(document, document);
    const noteShare = ({ ownerKey, host }: ShareNames, item: ShareRecord | null) =>
      this.shares.set(both(ownerKey, host), { names: { ownerKey, host }, item });
    for (const names of goneShares) noteShare(names, null);
    for (const share of shares) noteShare(share, share);
    if (adopted !== undefined) this.adopted = goneOn(this.adopted, adopted);
  }

  /** Moves so many of the oldest notes out. What is said of a whole sweep goes only with the last of all. */
  take(most: number): Notes {
    const taken = new Notes();
    const isPolicy = this.documents.size > 0 || this.adopted !== null;
    move(this.owners, taken.owners, isPolicy ? this.owners.size : most);
    move(this.documents, taken.documents, this.documents.size);
    taken.adopted = this.adopted;
    this.adopted = null;
    move(this.shares, taken.shares, most - taken.size);
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
    addMissing(this.documents, older.documents);
    this.adopted = this.adopted === null ? older.adopted : goneOn(older.adopted, this.adopted);
    addMissing(this.shares, older.shares);
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
      documents: itemsOf(this.documents),
      goneDocuments: goneOf(this.documents),
      ...(this.adopted === null ? {} : { adopted: this.adopted }),
      shares: itemsOf(this.shares),
      goneShares: goneOf(this.shares),
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

function itemsOf<Item>(notes: NamedNotesOf<unknown, Item>): Item[] {
  return [...notes.values()].flatMap(({ item }) => (item === null ? [] : [item]));
}

function goneOf<Names>(notes: NamedNotesOf<Names, unknown>): Names[] {
  return [...notes.values()].flatMap(({ names, item }) => (item === null ? [names] : []));
}

/** What is to be written of two that came one after the other. */
function goneOn(before: Adopted | null, after: Adopted): Adopted {
  const { lineage } = after;
  if (before?.lineage === undefined || lineage === undefined) return after;
  const stays = before.lineage.versions.filter(
    ({ version }) => version >= lineage.since && version < after.version,
  );
  return { ...after, lineage: { since: lineage.since, versions: [...stays, ...lineage.versions] } };
}
