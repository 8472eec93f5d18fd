import { SoftquotaError } from '../errors.ts';
import type { Work } from '../slices.ts';
import type { Changes, DocumentRecord } from '../store/index.ts';
import { printable } from '../text.ts';
import { ChangeSet, type DocumentsByKind, documentsOf, type Snapshot } from './change-set.ts';
import type { Durability, Kind } from './kind.ts';

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
