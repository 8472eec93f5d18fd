/**
 * The writes that wait for the store: of each thing its newest state, `null` where it is gone.
 *
 * So what waits is never more than what is in memory, what has gone from it meanwhile, and `mostEvents`.
 * Documents that are replicated go into one write, with their owners.
 */

import type { DocumentRecord, EventRecord, LevelRecord, OwnerRecord, ShareRecord } from './record-store.ts';
import type { Changes, ReplicatedPosition, RootRecord, SweepRecord } from './store.ts';
import type { UnitRecord } from './unit.ts';

type Pending<Key, Item> = Map<Key, Item | null>;
/** Pending writes of records that two names find, by `both` of them. */
type PendingNamed<Names, Item> = Map<string, { readonly names: Names; readonly item: Item | null }>;

type DocumentNames = Pick<DocumentRecord, 'kind' | 'key'>;
type ShareNames = Pick<ShareRecord, 'ownerKey' | 'host'>;

/** Key of a pair, unique and quickly made, for a hundred thousand may wait at once. */
const both = (one: string, other: string) => `${one.length}:${one}${other}`;

/** Events are not held in memory; so many wait at most. */
export const mostEvents = 50_000;

/** Events, and how near to their limits owners are now. */
export type PendingEvents = Pick<Changes, 'events' | 'goneEventsBefore' | 'levels' | 'goneLevels'>;

/** The changes of others, and where the documents stand with it. */
export type PendingReplica = Pick<
  Changes,
  'documents' | 'goneDocuments' | 'shares' | 'goneShares' | 'replicated'
>;

export class PendingWrites {
  /** By key. */
  readonly owners: Pending<string, OwnerRecord> = new Map();
  /** By id. */
  readonly units: Pending<string, UnitRecord> = new Map();
  /** By path. */
  readonly roots: Pending<string, RootRecord> = new Map();
  /** By seq. Those that come are written at once, and never wait. */
  readonly deltas: Pending<number, never> = new Map();
  sweep: SweepRecord | null = null;
  readonly documents: PendingNamed<DocumentNames, DocumentRecord> = new Map();
  replicated: ReplicatedPosition | null = null;
  readonly shares: PendingNamed<ShareNames, ShareRecord> = new Map();
  /** By id. */
  readonly events: Pending<string, EventRecord> = new Map();
  /** By owner id. */
  readonly levels: Pending<number, LevelRecord> = new Map();
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
    const single = [this.sweep, this.replicated, this.goneEventsBefore].filter(one => one !== null);
    return maps.reduce((sum, { size }) => sum + size, single.length);
  }

  /** Gives how many events there was no room for. */
  addEvents({ events = [], goneEventsBefore, levels = [], goneLevels = [] }: PendingEvents): number {
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

  addReplica({
    documents = [],
    goneDocuments = [],
    shares = [],
    goneShares = [],
    replicated,
  }: PendingReplica): void {
    const addDocument = ({ kind, key }: DocumentNames, item: DocumentRecord | null) =>
      this.documents.set(both(kind, key), { names: { kind, key }, item });
    for (const names of goneDocuments) addDocument(names, null);
    for (const document of documents) addDocument(document, document);
    const addShare = ({ ownerKey, host }: ShareNames, item: ShareRecord | null) =>
      this.shares.set(both(ownerKey, host), { names: { ownerKey, host }, item });
    for (const names of goneShares) addShare(names, null);
    for (const share of shares) addShare(share, share);
    if (replicated !== undefined) this.replicated = goneOn(this.replicated, replicated);
  }

  /** Moves so many of the oldest out. What is said of a whole sweep goes only with the last of all. */
  take(most: number): PendingWrites {
    const taken = new PendingWrites();
    const isPolicy = this.documents.size > 0 || this.replicated !== null;
    move(this.owners, taken.owners, isPolicy ? this.owners.size : most);
    move(this.documents, taken.documents, this.documents.size);
    taken.replicated = this.replicated;
    this.replicated = null;
    move(this.shares, taken.shares, most - taken.size);
    move(this.units, taken.units, most - taken.size);
    move(this.roots, taken.roots, most - taken.size);
    move(this.deltas, taken.deltas, most - taken.size);
    // Events go before the levels that say they were told, so that a crash in between has them told
    // again.
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

  /** Takes back what could not be written, but for what has changed since. */
  putBack(older: PendingWrites): void {
    addMissing(this.owners, older.owners);
    addMissing(this.documents, older.documents);
    this.replicated = this.replicated === null ? older.replicated : goneOn(older.replicated, this.replicated);
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
      ...(this.replicated === null ? {} : { replicated: this.replicated }),
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

function move<Key, Item>(from: Pending<Key, Item>, to: Pending<Key, Item>, most: number): void {
  if (most <= 0) return;
  for (const [key, item] of from) {
    to.set(key, item);
    from.delete(key);
    if (to.size >= most) return;
  }
}

function addMissing<Key, Item>(pending: Pending<Key, Item>, older: Pending<Key, Item>): void {
  for (const [key, item] of older) if (!pending.has(key)) pending.set(key, item);
}

function present<Key, Item>(pending: Pending<Key, Item>): Item[] {
  return [...pending.values()].filter(item => item !== null);
}

function gone<Key, Item>(pending: Pending<Key, Item>): Key[] {
  return [...pending].filter(([, item]) => item === null).map(([key]) => key);
}

function itemsOf<Item>(pending: PendingNamed<unknown, Item>): Item[] {
  return [...pending.values()].flatMap(({ item }) => (item === null ? [] : [item]));
}

function goneOf<Names>(pending: PendingNamed<Names, unknown>): Names[] {
  return [...pending.values()].flatMap(({ names, item }) => (item === null ? [names] : []));
}

/** Joins two changes that came one after the other into one to be written. */
function goneOn(before: ReplicatedPosition | null, after: ReplicatedPosition): ReplicatedPosition {
  const { lineage } = after;
  if (before?.lineage === undefined || lineage === undefined) return after;
  const stays = before.lineage.versions.filter(
    ({ version }) => version >= lineage.since && version < after.version,
  );
  return { ...after, lineage: { since: lineage.since, versions: [...stays, ...lineage.versions] } };
}
