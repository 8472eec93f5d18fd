/** The documents in force, in memory. */

import { SoftquotaError } from '../errors.ts';
import { printable } from '../quota/index.ts';
import type { Changes, DocumentRecord } from '../store/index.ts';
import { ChangeSet } from './change-set.ts';
import type { Kind } from './kind.ts';
import { type DocumentsByKind, documentsOf, type Snapshot } from './snapshot.ts';

export class DocumentStore implements Snapshot {
  /** By name. */
  readonly kinds: ReadonlyMap<string, Kind<unknown>>;
  readonly #documents: DocumentsByKind = new Map();

  /** Throws `store_refused` where a document is not what its kind says. Records of other kinds are left alone. */
  constructor(kinds: readonly Kind<unknown>[], records: readonly DocumentRecord[]) {
    this.kinds = new Map(kinds.map(kind => [kind.name, kind]));
    for (const kind of kinds) this.#documents.set(kind.name, new Map());
    for (const { kind: name, key, text } of records) {
      const kind = this.kinds.get(name);
      if (kind !== undefined) this.#documents.get(name)?.set(key, parsed(kind, key, text));
    }
  }

  get<T>(kind: Kind<T>, key: string): T | undefined {
    return documentsOf(this.#documents, kind).get(key);
  }

  all<T>(kind: Kind<T>): Iterable<readonly [key: string, document: T]> {
    return documentsOf(this.#documents, kind).entries();
  }

  /** All documents, as the store keeps them. */
  *records(): Generator<DocumentRecord> {
    for (const [kind, documents] of this.#documents) {
      for (const [key, document] of documents) yield { kind, key, text: JSON.stringify(document) };
    }
  }

  changeSet(): ChangeSet {
    return new ChangeSet(this);
  }

  /** Reads records into a change set; throws as the constructor does. */
  changeSetOf({
    documents = [],
    goneDocuments = [],
  }: Pick<Changes, 'documents' | 'goneDocuments'>): ChangeSet {
    const changes = this.changeSet();
    for (const names of goneDocuments) this.read(changes, names, null);
    for (const document of documents) this.read(changes, document, document.text);
    return changes;
  }

  /** Reads one record into a change set; null: it is gone. Throws as the constructor does. */
  read(
    changes: ChangeSet,
    { kind: name, key }: Pick<DocumentRecord, 'kind' | 'key'>,
    text: string | null,
  ): void {
    const kind = this.kinds.get(name);
    if (kind === undefined) return;
    if (text === null) changes.remove(kind, key);
    else changes.put(kind, key, parsed(kind, key, text));
  }

  apply(changes: ChangeSet): void {
    for (const [kind, changed] of changes.changed) {
      const here = this.#documents.get(kind) ?? new Map();
      for (const [key, document] of changed) {
        if (document === null) here.delete(key);
        else here.set(key, document);
      }
    }
  }
}

function parsed(kind: Kind<unknown>, key: string, text: string): unknown {
  try {
    return kind.schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new SoftquotaError(
      'store_refused',
      `the store is damaged: its ${kind.name} ${printable(key)} cannot be read. It was left as it is. Put a backup in its place`,
      { cause },
    );
  }
}
