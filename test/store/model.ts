/** A store as plain maps: what any store must do, in the shortest words. */

import type {
  Changes,
  DeltaRecord,
  DocumentRecord,
  EventQuery,
  EventRecord,
  LevelRecord,
  OwnerRecord,
  Records,
  ReplicatedPosition,
  RootRecord,
  ShareRecord,
  Store,
  StoredRecords,
  SweepRecord,
  UnitRecord,
} from '../../src/store/index.ts';

export interface Model {
  readonly units: Map<string, UnitRecord>;
  readonly deltas: Map<number, DeltaRecord>;
  readonly owners: Map<string, OwnerRecord>;
  /** By kind and key. */
  readonly documents: Map<string, DocumentRecord>;
  readonly roots: Map<string, RootRecord>;
  sweep: SweepRecord | null;
  replicated: ReplicatedPosition | null;
  /** By owner and host. */
  readonly shares: Map<string, ShareRecord>;
  readonly events: Map<string, EventRecord>;
  readonly levels: Map<number, LevelRecord>;
}

export function emptyModel(): Model {
  return {
    units: new Map(),
    deltas: new Map(),
    owners: new Map(),
    documents: new Map(),
    roots: new Map(),
    sweep: null,
    replicated: null,
    shares: new Map(),
    events: new Map(),
    levels: new Map(),
  };
}

export function applyTo(model: Model, changes: Changes): void {
  for (const id of changes.goneUnits ?? []) model.units.delete(id);
  for (const seq of changes.goneDeltas ?? []) model.deltas.delete(seq);
  for (const key of changes.goneOwners ?? []) model.owners.delete(key);
  for (const gone of changes.goneDocuments ?? []) model.documents.delete(documentId(gone));
  for (const gone of changes.goneShares ?? []) model.shares.delete(shareId(gone));
  for (const path of changes.goneRoots ?? []) model.roots.delete(path);
  for (const unit of changes.units ?? []) model.units.set(unit.id, unit);
  for (const delta of changes.deltas ?? []) model.deltas.set(delta.seq, delta);
  for (const owner of changes.owners ?? []) model.owners.set(owner.key, owner);
  for (const document of changes.documents ?? []) model.documents.set(documentId(document), document);
  for (const root of changes.roots ?? []) model.roots.set(root.path, root);
  for (const share of changes.shares ?? []) model.shares.set(shareId(share), share);
  model.sweep = changes.sweep ?? model.sweep;
  if (changes.replicated !== undefined) model.replicated = adoptedAfter(model.replicated, changes.replicated);
  for (const { id, at } of [...model.events.values()]) {
    if (at < (changes.goneEventsBefore ?? Number.NEGATIVE_INFINITY)) model.events.delete(id);
  }
  for (const ownerId of changes.goneLevels ?? []) model.levels.delete(ownerId);
  for (const event of changes.events ?? []) model.events.set(event.id, event);
  for (const level of changes.levels ?? []) model.levels.set(level.ownerId, level);
}

export function eventsBy(model: Model, { kinds, owner, after, limit }: EventQuery): readonly EventRecord[] {
  const isOf = (event: EventRecord) =>
    owner === undefined ||
    (owner.ownerId !== null && event.ownerId === owner.ownerId) ||
    (owner.ownerKey !== null && event.ownerKey === owner.ownerKey);
  return [...model.events.values()]
    .filter(event => kinds?.includes(event.kind) !== false && isOf(event))
    .sort(newestFirst)
    .filter(event => after === undefined || newestFirst(after, event) < 0)
    .slice(0, limit);
}

function newestFirst(a: Pick<EventRecord, 'at' | 'id'>, b: Pick<EventRecord, 'at' | 'id'>): number {
  return b.at - a.at || -order(a.id, b.id);
}

export function levelsBy(model: Model): readonly LevelRecord[] {
  return [...model.levels.values()].sort((a, b) => a.ownerId - b.ownerId);
}

export function recordsBy(model: Model): Records {
  return sortedRecords({
    owners: [...model.owners.values()],
    documents: [...model.documents.values()],
    shares: [...model.shares.values()],
  });
}

/** All that a store holds but events and levels. */
export interface AllRecords extends StoredRecords {
  readonly units: readonly UnitRecord[];
}

export async function allIn(store: Store): Promise<AllRecords> {
  return { ...(await store.load()), units: await unitsIn(store) };
}

export async function unitsIn(store: Store): Promise<readonly UnitRecord[]> {
  const units: UnitRecord[] = [];
  for await (const some of store.units()) units.push(...some);
  return units;
}

export function keptBy(model: Model): AllRecords {
  return sorted({
    ...recordsBy(model),
    units: [...model.units.values()],
    deltas: [...model.deltas.values()].sort((a, b) => a.seq - b.seq),
    roots: [...model.roots.values()],
    sweep: model.sweep,
    replicated: model.replicated,
  });
}

/** Sorts records, so that the order in which they came does not matter. */
export function sortedRecords({ owners, documents, shares }: Records): Records {
  return {
    owners: owners.toSorted((a, b) => order(a.key, b.key)),
    documents: documents.toSorted((a, b) => order(documentId(a), documentId(b))),
    shares: shares.toSorted((a, b) => order(shareId(a), shareId(b))),
  };
}

/** Sorts all records but the deltas, whose order is promised. */
export function sorted(kept: AllRecords): AllRecords {
  return {
    ...sortedRecords(kept),
    units: kept.units.toSorted((a, b) => order(a.id, b.id)),
    deltas: kept.deltas,
    roots: kept.roots.toSorted((a, b) => order(a.path, b.path)),
    sweep: kept.sweep,
    replicated: kept.replicated,
  };
}

function shareId({ ownerKey, host }: Pick<ShareRecord, 'ownerKey' | 'host'>): string {
  return JSON.stringify([ownerKey, host]);
}

function documentId({ kind, key }: Pick<DocumentRecord, 'kind' | 'key'>): string {
  return JSON.stringify([kind, key]);
}

function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** Opens a store that is the model itself: writes are there at once, and stay when it is closed. */
export function storeOn(model: Model): Store {
  return {
    load: async () => keptBy(model),
    units: async function* () {
      yield keptBy(model).units;
    },
    write: async changes => applyTo(model, changes),
    events: async query => eventsBy(model, query),
    levels: async () => levelsBy(model),
    close: async () => {},
  };
}

/** Adds what is said of versions to what was said before, as far as that stays. */
function adoptedAfter(
  before: ReplicatedPosition | null,
  { lineage, ...position }: ReplicatedPosition,
): ReplicatedPosition {
  if (lineage === undefined) return position;
  const versions = new Map(before?.lineage?.versions.map(one => [one.version, one]));
  for (const one of lineage.versions) versions.set(one.version, one);
  const kept = [...versions.values()].filter(({ version }) => version >= lineage.since);
  kept.sort((a, b) => a.version - b.version);
  return { ...position, lineage: { since: kept[0]?.version ?? lineage.since, versions: kept } };
}
