/** Documents by kind and key, and changes on top of a snapshot, which stays unchanged. */

import type { Work } from '../slices.ts';
import type { Changes, DocumentRecord } from '../store/index.ts';
import type { Kind } from './kind.ts';

/** Documents to read: those in force, or those after a drafted transaction. */
export interface Snapshot {
  get<T>(kind: Kind<T>, key: string): T | undefined;
  all<T>(kind: Kind<T>): Iterable<readonly [key: string, document: T]>;
  /** Returns the documents of an owner, by `ownerOf` of the kind, unordered. */
  ofOwner<T>(kind: Kind<T>, ownerId: number): Iterable<readonly [key: string, document: T]>;
}

export type DocumentsByKind = Map<string, Map<string, unknown>>;

/** Returns the documents of a kind. Their type is safe, since `put` or the kind's schema has checked it. */
export function documentsOf<T>(documents: DocumentsByKind, kind: Kind<T>): Map<string, T>;
export function documentsOf(documents: DocumentsByKind, kind: Kind<unknown>): Map<string, unknown> {
  return documents.get(kind.name) ?? new Map();
}

export class ChangeSet implements Snapshot {
  readonly #base: Snapshot;
  /** Null: removed. */
  readonly #changed: DocumentsByKind = new Map();

  constructor(base: Snapshot) {
    this.#base = base;
  }

  get changed(): ReadonlyMap<string, ReadonlyMap<string, unknown>> {
    return this.#changed;
  }

  get isEmpty(): boolean {
    return [...this.#changed.values()].every(documents => documents.size === 0);
  }

  /** Makes the records to write to the store. */
  *records(): Work<Required<Pick<Changes, 'documents' | 'goneDocuments'>>> {
    const documents: DocumentRecord[] = [];
    const goneDocuments: { kind: string; key: string }[] = [];
    for (const [kind, changed] of this.#changed) {
      for (const [key, document] of changed) {
        if (document === null) goneDocuments.push({ kind, key });
        else documents.push({ kind, key, text: JSON.stringify(document) });
        yield;
      }
    }
    return { documents, goneDocuments };
  }

  get<T>(kind: Kind<T>, key: string): T | undefined {
    const changed = documentsOf(this.#changed, kind).get(key);
    return changed === undefined ? this.#base.get(kind, key) : (changed ?? undefined);
  }

  *all<T>(kind: Kind<T>): Generator<readonly [key: string, document: T]> {
    const changed = documentsOf(this.#changed, kind);
    for (const [key, document] of this.#base.all(kind)) if (!changed.has(key)) yield [key, document];
    for (const [key, document] of changed) if (document !== null) yield [key, document];
  }

  *ofOwner<T>(kind: Kind<T>, ownerId: number): Generator<readonly [key: string, document: T]> {
    const changed = documentsOf(this.#changed, kind);
    for (const [key, document] of this.#base.ofOwner(kind, ownerId))
      if (!changed.has(key)) yield [key, document];
    for (const [key, document] of changed) {
      if (document !== null && kind.ownerOf?.(document) === ownerId) yield [key, document];
    }
  }

  put<T>(kind: Kind<T>, key: string, document: T): void {
    this.#changed.set(kind.name, documentsOf(this.#changed, kind).set(key, document));
  }

  remove(kind: Kind<unknown>, key: string): void {
    this.#changed.set(kind.name, documentsOf(this.#changed, kind).set(key, null));
  }
}
