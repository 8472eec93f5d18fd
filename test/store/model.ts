/** A store as plain maps: what any store must do, in the shortest words. */

import type {
  Changes,
  DeltaRecord,
  DocumentRecord,
  Kept,
  OwnerRecord,
  RootRecord,
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
}

export function emptyModel(): Model {
  return {
    units: new Map(),
    deltas: new Map(),
    owners: new Map(),
    documents: new Map(),
    roots: new Map(),
    sweep: null,
  };
}

export function applyTo(model: Model, changes: Changes): void {
  for (const id of changes.goneUnits ?? []) model.units.delete(id);
  for (const seq of changes.goneDeltas ?? []) model.deltas.delete(seq);
  for (const key of changes.goneOwners ?? []) model.owners.delete(key);
  for (const gone of changes.goneDocuments ?? []) model.documents.delete(documentId(gone));
  for (const path of changes.goneRoots ?? []) model.roots.delete(path);
  for (const unit of changes.units ?? []) model.units.set(unit.id, unit);
  for (const delta of changes.deltas ?? []) model.deltas.set(delta.seq, delta);
  for (const owner of changes.owners ?? []) model.owners.set(owner.key, owner);
  for (const document of changes.documents ?? []) model.documents.set(documentId(document), document);
  for (const root of changes.roots ?? []) model.roots.set(root.path, root);
  model.sweep = changes.sweep ?? model.sweep;
}

export function keptBy(model: Model): Kept {
  return sorted({
    units: [...model.units.values()],
    deltas: [...model.deltas.values()].sort((a, b) => a.seq - b.seq),
    owners: [...model.owners.values()],
    documents: [...model.documents.values()],
    roots: [...model.roots.values()],
    sweep: model.sweep,
  });
}

/** The same for the same records, in whatever order they came; that of deltas is promised, and so is kept. */
export function sorted(kept: Kept): Kept {
  return {
    units: kept.units.toSorted((a, b) => order(a.id, b.id)),
    deltas: kept.deltas,
    owners: kept.owners.toSorted((a, b) => order(a.key, b.key)),
    documents: kept.documents.toSorted((a, b) => order(documentId(a), documentId(b))),
    roots: kept.roots.toSorted((a, b) => order(a.path, b.path)),
    sweep: kept.sweep,
  };
}

function documentId({ kind, key }: Pick<DocumentRecord, 'kind' | 'key'>): string {
  return JSON.stringify([kind, key]);
}

function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
