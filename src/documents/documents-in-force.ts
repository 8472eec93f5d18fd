/** Documents by kind and key: those in force, and changes on top of a snapshot, which stays unchanged. */

import type { z } from 'zod';
import { SoftquotaError } from '../errors.ts';
import type { Changes, DocumentNames, DocumentRecord } from '../store/index.ts';
import { printable } from '../text.ts';
import type { Work } from '../turns.ts';

/**
 * The guarantee for documents of a kind.
 *
 * `versioned`: each change builds on the one before, and is replicated as configured. `volatile`: documents
 * that use creates again, such as sessions. They have no version, of two writers the last one wins, and
 * backups do not have them.
 */
type Durability = 'versioned' | 'volatile';

/** A kind of documents. The store identifies it by its name. */
export interface Kind<T> {
  readonly name: string;
  readonly durability: Durability;
  readonly schema: z.ZodType<T>;
  /**
   * Returns the part of a document that the audit log shows, so nothing secret. A change that leaves it equal
   * has no event. For a kind without `describe` the log says only that a document was changed; for a volatile
   * kind without it, nothing. `other` is the document on the other side of the change; null: there is none.
   */
  describe?(key: string, document: T, nameOf: (ownerId: number) => string, other: T | null): Description;
  /** Returns the id of the owner that a document belongs to, for `ofOwner`. */
  ownerOf?(document: T): number;
}

export interface Description {
  readonly name: string | null;
  /** The id of the owner that it belongs to; null: none. */
  readonly ownerId: number | null;
  /** An object that can be written as JSON, with the names and formats of the API. */
  readonly content: object;
}

/** Documents to read: those in force, or those after a drafted transaction. */
export interface Snapshot {
  get<T>(kind: Kind<T>, key: string): T | undefined;
  all<T>(kind: Kind<T>): Iterable<readonly [key: string, document: T]>;
  /** Returns the documents of an owner, by `ownerOf` of the kind, unordered. */
  ofOwner<T>(kind: Kind<T>, ownerId: number): Iterable<readonly [key: string, document: T]>;
}

type DocumentsByKind = Map<string, Map<string, unknown>>;

interface ChangedDocuments {
  readonly documents: DocumentRecord[];
  readonly goneDocuments: DocumentNames[];
}

/** Returns the documents of a kind. Their type is safe, since `put` or the kind's schema has checked it. */
function documentsOf<T>(documents: DocumentsByKind, kind: Kind<T>): Map<string, T>;
function documentsOf(documents: DocumentsByKind, kind: Kind<unknown>): Map<string, unknown> {
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

  /** Makes the records to write to the store, by durability. */
  *records(kinds: ReadonlyMap<string, Kind<unknown>>): Work<Readonly<Record<Durability, ChangedDocuments>>> {
    const none = (): ChangedDocuments => ({ documents: [], goneDocuments: [] });
    const records = { versioned: none(), volatile: none() };
    for (const [kind, changed] of this.#changed) {
      const { documents, goneDocuments } = records[kinds.get(kind)?.durability ?? 'versioned'];
      for (const [key, document] of changed) {
        if (document === null) goneDocuments.push({ kind, key });
        else documents.push({ kind, key, text: JSON.stringify(document) });
        yield;
      }
    }
    return records;
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

export class DocumentsInForce implements Snapshot {
  readonly kinds: ReadonlyMap<string, Kind<unknown>>;
  readonly #documents: DocumentsByKind = new Map();
  /** The keys of each owner's documents, by the kind's name. */
  readonly #ofOwners = new Map<string, OwnerKeys>();

  /**
   * Throws `store_refused` if a document does not fit the schema of its kind. Ignores records of other kinds.
   */
  constructor(kinds: readonly Kind<unknown>[], records: readonly DocumentRecord[]) {
    this.kinds = new Map(kinds.map(kind => [kind.name, kind]));
    for (const kind of kinds) {
      this.#documents.set(kind.name, new Map());
      if (kind.ownerOf !== undefined) this.#ofOwners.set(kind.name, new Map());
    }
    for (const { kind: name, key, text } of records) {
      const kind = this.kinds.get(name);
      if (kind !== undefined) this.#set(kind.name, key, parsed(kind, key, text));
    }
  }

  get<T>(kind: Kind<T>, key: string): T | undefined {
    return documentsOf(this.#documents, kind).get(key);
  }

  all<T>(kind: Kind<T>): Iterable<readonly [key: string, document: T]> {
    return documentsOf(this.#documents, kind).entries();
  }

  *ofOwner<T>(kind: Kind<T>, ownerId: number): Generator<readonly [key: string, document: T]> {
    for (const key of this.#ofOwners.get(kind.name)?.get(ownerId) ?? []) {
      const document = this.get(kind, key);
      if (document !== undefined) yield [key, document];
    }
  }

  /** Yields the documents of some kinds as records of the store. */
  *records(isWanted: (durability: Durability) => boolean): Generator<DocumentRecord> {
    for (const { name: kind, durability } of this.kinds.values()) {
      if (!isWanted(durability)) continue;
      for (const [key, document] of this.#documents.get(kind) ?? []) {
        yield { kind, key, text: JSON.stringify(document) };
      }
    }
  }

  record({ kind: name, key }: Pick<DocumentRecord, 'kind' | 'key'>): DocumentRecord | undefined {
    const kind = this.kinds.get(name);
    const document = kind === undefined ? undefined : this.get(kind, key);
    return document === undefined ? undefined : { kind: name, key, text: JSON.stringify(document) };
  }

  changeSet(): ChangeSet {
    return new ChangeSet(this);
  }

  /** Reads records into a change set; throws as the constructor does. */
  *changeSetOf({
    documents = [],
    goneDocuments = [],
  }: Pick<Changes, 'documents' | 'goneDocuments'>): Work<ChangeSet> {
    const changes = this.changeSet();
    for (const { kind: name, key } of goneDocuments) {
      const kind = this.kinds.get(name);
      if (kind !== undefined) changes.remove(kind, key);
      yield;
    }
    for (const { kind: name, key, text } of documents) {
      const kind = this.kinds.get(name);
      if (kind !== undefined) changes.put(kind, key, parsed(kind, key, text));
      yield;
    }
    return changes;
  }

  apply(changes: ChangeSet): void {
    for (const [kind, changed] of changes.changed) {
      for (const [key, document] of changed) this.#set(kind, key, document);
    }
  }

  /** Sets a document, or removes it if null. */
  #set(kind: string, key: string, document: unknown): void {
    const documents = this.#documents.get(kind);
    const before = documents?.get(key);
    if (document === null) documents?.delete(key);
    else documents?.set(key, document);
    const owners = this.#ofOwners.get(kind);
    const ownerOf = (one: unknown) => this.kinds.get(kind)?.ownerOf?.(one) ?? 0;
    if (owners === undefined) return;
    if (before !== undefined) {
      const keys = owners.get(ownerOf(before));
      keys?.delete(key);
      if (keys?.size === 0) owners.delete(ownerOf(before));
    }
    if (document !== null)
      owners.set(ownerOf(document), (owners.get(ownerOf(document)) ?? new Set()).add(key));
  }
}

type OwnerKeys = Map<number, Set<string>>;

function parsed(kind: Kind<unknown>, key: string, text: string): unknown {
  try {
    return kind.schema.parse(JSON.parse(text));
  } catch (cause) {
    const message = `the store is damaged: its ${kind.name} ${printable(key)} cannot be read. It was not changed. Restore a backup`;
    throw new SoftquotaError('store_refused', message, { cause });
  }
}
