/** Documents by kind and key: what is in force, and what is drafted on top of it. */

import type { z } from 'zod';
import { SoftquotaError } from '../errors.ts';
import { printable } from '../quota/index.ts';
import type { Changes, DocumentRecord } from '../store/index.ts';

/** Its name is what the store knows it by. */
export interface Kind<T> {
  readonly name: string;
  readonly schema: z.ZodType<T>;
  /**
   * What the record of changes says of a document, so nothing secret. Where it stays the same there was no change to
   * speak of. Of a kind without it nothing is said but that a document has become another.
   */
  told?(key: string, document: T, nameOf: (ownerId: number) => string): Told;
  /** Nobody laid it down, and it is not to come back: it is in no backup. */
  readonly isPassing?: true;
}

/** What may be known of a document. */
export interface Told {
  /** What people call it. */
  readonly name: string | null;
  /** Whose it is, where it is one owner's. */
  readonly ownerId: number | null;
  /** As JSON, an object. */
  readonly content: object;
}

export interface View {
  get<T>(kind: Kind<T>, key: string): T | undefined;
  /** In no order. */
  all<T>(kind: Kind<T>): Iterable<readonly [key: string, document: T]>;
}

type Pages = Map<string, Map<string, unknown>>;

/** What is in force. */
export class Shelf implements View {
  /** By name. */
  readonly #kinds: ReadonlyMap<string, Kind<unknown>>;
  readonly #pages: Pages = new Map();

  /** Throws `store_refused` where a document is not what its kind says. Kinds that are not asked for are left alone. */
  constructor(kinds: readonly Kind<unknown>[], records: readonly DocumentRecord[]) {
    this.#kinds = new Map(kinds.map(kind => [kind.name, kind]));
    for (const kind of kinds) this.#pages.set(kind.name, new Map());
    for (const { kind: name, key, text } of records) {
      const kind = this.#kinds.get(name);
      if (kind !== undefined) this.#pages.get(name)?.set(key, parsed(kind, key, text));
    }
  }

  get<T>(kind: Kind<T>, key: string): T | undefined {
    return pageOf(this.#pages, kind).get(key);
  }

  all<T>(kind: Kind<T>): Iterable<readonly [key: string, document: T]> {
    return pageOf(this.#pages, kind).entries();
  }

  /** All of it, as the store keeps it. */
  *records(): Generator<DocumentRecord> {
    for (const [kind, page] of this.#pages) {
      for (const [key, document] of page) yield { kind, key, text: JSON.stringify(document) };
    }
  }

  draft(): Draft {
    return new Draft(this);
  }

  /** A draft of what others have changed; throws as the constructor does. */
  draftOf({ documents = [], goneDocuments = [] }: Pick<Changes, 'documents' | 'goneDocuments'>): Draft {
    const draft = new Draft(this);
    for (const names of goneDocuments) this.takeOver(draft, names, null);
    for (const document of documents) this.takeOver(draft, document, document.text);
    return draft;
  }

  /** Drafts one document that others have changed; null: it is gone. Throws as the constructor does. */
  takeOver(
    draft: Draft,
    { kind: name, key }: Pick<DocumentRecord, 'kind' | 'key'>,
    text: string | null,
  ): void {
    const kind = this.#kinds.get(name);
    if (kind === undefined) return;
    if (text === null) draft.remove(kind, key);
    else draft.put(kind, key, parsed(kind, key, text));
  }

  /** Takes what a draft of this shelf changes. */
  apply(draft: Draft): void {
    for (const [kind, page] of draft.changed) {
      const here = this.#pages.get(kind) ?? new Map();
      for (const [key, document] of page) {
        if (document === null) here.delete(key);
        else here.set(key, document);
      }
    }
  }
}

/** Changes on top of a shelf, which stays as it is. */
export class Draft implements View {
  readonly #below: View;
  /** Null: taken out. */
  readonly #changed: Pages = new Map();

  constructor(below: View) {
    this.#below = below;
  }

  get changed(): ReadonlyMap<string, ReadonlyMap<string, unknown>> {
    return this.#changed;
  }

  get isEmpty(): boolean {
    return [...this.#changed.values()].every(page => page.size === 0);
  }

  /** What the store has to be told. */
  get changes(): Pick<Changes, 'documents' | 'goneDocuments'> {
    const documents: DocumentRecord[] = [];
    const goneDocuments: { kind: string; key: string }[] = [];
    for (const [kind, page] of this.#changed) {
      for (const [key, document] of page) {
        if (document === null) goneDocuments.push({ kind, key });
        else documents.push({ kind, key, text: JSON.stringify(document) });
      }
    }
    return { documents, goneDocuments };
  }

  get<T>(kind: Kind<T>, key: string): T | undefined {
    const changed = pageOf(this.#changed, kind).get(key);
    return changed === undefined ? this.#below.get(kind, key) : (changed ?? undefined);
  }

  *all<T>(kind: Kind<T>): Generator<readonly [key: string, document: T]> {
    const page = pageOf(this.#changed, kind);
    for (const [key, document] of this.#below.all(kind)) if (!page.has(key)) yield [key, document];
    for (const [key, document] of page) if (document !== null) yield [key, document];
  }

  put<T>(kind: Kind<T>, key: string, document: T): void {
    this.#changed.set(kind.name, pageOf(this.#changed, kind).set(key, document));
  }

  remove(kind: Kind<unknown>, key: string): void {
    this.#changed.set(kind.name, pageOf(this.#changed, kind).set(key, null));
  }
}

/** What stands under a kind's name was put there by `put`, or checked by the kind's own schema. */
function pageOf<T>(pages: Pages, kind: Kind<T>): Map<string, T>;
function pageOf(pages: Pages, kind: Kind<unknown>): Map<string, unknown> {
  return pages.get(kind.name) ?? new Map();
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
