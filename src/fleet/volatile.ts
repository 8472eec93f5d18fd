/**
 * Volatile documents that hosts share: written to the shared store as they change, some at a time, and read
 * from it as other hosts change them. The last write wins, whatever it was based on.
 *
 * An answer of the store is as old as its request: it never undoes what this host has written since.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Documents } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import { inSlices } from '../slices.ts';
import {
  type DocumentNames,
  type DocumentRecord,
  placeIn,
  type SharedStore,
  type VolatileChange,
} from '../store/index.ts';

interface VolatileDocumentsOptions {
  readonly documents: Pick<Documents, 'applyVolatile' | 'volatileOf' | 'volatileRecords'>;
  readonly store: Pick<SharedStore, 'volatile' | 'volatileNamesAfter' | 'writeVolatile'>;
}

/** A write of a document; without a record, its deletion. */
interface Write {
  readonly names: DocumentNames;
  readonly record: DocumentRecord | null;
}

/** Milliseconds between two writes, so that they are few even if many documents change. */
const pauseMs = 20;
/** Documents in one write. */
const mostAtOnce = 1000;
/** Milliseconds for which a write is remembered, since a server that takes over may have lost it. */
const recentMs = 60_000;
/** Limit of documents whose writes are remembered. */
const mostRecent = 20_000;

export class VolatileDocuments {
  readonly #options: VolatileDocumentsOptions;
  #waiting = new Map<string, Write>();
  /** The write that will take the waiting documents; null: none wait. */
  #next: Promise<void> | null = null;
  #lastWrite: Promise<unknown> = Promise.resolve();
  /** Names of recently written documents with the time of the write, on the monotonic clock. */
  readonly #recent = new Map<string, { readonly names: DocumentNames; at: number }>();
  #isLost = false;
  /** Position up to which all is in force here; null: there was nothing; undefined: nothing was read yet. */
  #place: string | null | undefined;

  constructor(options: VolatileDocumentsOptions) {
    this.#options = options;
  }

  /** Writes documents; resolves once they are in the shared store. Rejects with `store_away`. */
  write({ documents = [], goneDocuments = [] }: VolatileChange): Promise<void> {
    for (const { kind, key } of goneDocuments) this.#add({ kind, key }, null);
    for (const document of documents) this.#add(document, document);
    this.#next ??= this.#lastWrite.then(() => this.#writeWaiting());
    return this.#next;
  }

  /** Called when another server may have lost the last writes: the next `sync` writes them again. */
  lost(): void {
    this.#isLost = true;
  }

  /** Applies the writes up to this position of the shared store. Rejects with `store_away`. */
  async sync(place: string | null): Promise<void> {
    if (place === this.#place && !this.#isLost) return;
    const [known, now] = [placeIn(this.#place ?? ''), placeIn(place ?? '')];
    const goesOn = known !== null && known.epoch === now?.epoch && known.number < now.number && !this.#isLost;
    const names = goesOn ? await this.#options.store.volatileNamesAfter(known.number) : null;
    // A new epoch is drawn only in an empty store: the documents of the old one are lost, not deleted.
    const wasEmptied = now !== null && known !== null && known.epoch !== now.epoch;
    // An older copy of the store has taken its place.
    const isOlder = now !== null && known?.epoch === now.epoch && known.number > now.number;
    if (names === null) await this.#readAll(place, { hasLost: wasEmptied || isOlder, isOlder });
    else await this.#read(names);
    this.#place = place;
  }

  async #read(names: readonly DocumentNames[]): Promise<void> {
    const asked = performance.now();
    this.#apply(names, await this.#options.store.volatile(names), asked);
  }

  /**
   * Reads all documents. If the store has lost documents, those known here are written there again, also in
   * place of those of an older copy.
   */
  async #readAll(
    place: string | null,
    { hasLost, isOlder }: { readonly hasLost: boolean; readonly isOlder: boolean },
  ): Promise<void> {
    const { documents, store } = this.#options;
    if (this.#isLost) await this.#writeRecent();
    const asked = performance.now();
    const known = new Map<string, DocumentRecord>();
    await inSlices(documents.volatileRecords(), record => known.set(nameOf(record), record));
    const found = place === null ? [] : await store.volatile(null);
    const changed: DocumentRecord[] = [];
    await inSlices(found, record => {
      const text = known.get(nameOf(record))?.text;
      if (isOlder && text !== undefined && text !== record.text) return;
      if (text !== record.text) changed.push(record);
      known.delete(nameOf(record));
    });
    const missing = [...known.values()];
    if (place !== null && !hasLost) return this.#apply([...changed, ...missing], changed, asked);
    if (missing.length > 0) await this.#writeAgain({ documents: missing });
    this.#apply(changed, changed, asked);
  }

  #add({ kind, key }: DocumentNames, record: DocumentRecord | null): void {
    const names = { kind, key };
    this.#waiting.set(nameOf(names), { names, record });
  }

  async #writeWaiting(): Promise<void> {
    const batch = [...this.#waiting.values()];
    this.#waiting = new Map();
    this.#next = null;
    const writing = this.#write(batch);
    this.#lastWrite = writing.catch(() => {}).then(() => delay(pauseMs));
    return writing;
  }

  async #write(batch: readonly Write[]): Promise<void> {
    // Until the write has ended, and for a while, no earlier answer replaces these documents.
    for (const { names } of batch) this.#recent.set(nameOf(names), { names, at: Number.POSITIVE_INFINITY });
    try {
      for (let at = 0; at < batch.length; at += mostAtOnce) {
        const some = batch.slice(at, at + mostAtOnce);
        await this.#options.store.writeVolatile({
          documents: some.flatMap(({ record }) => record ?? []),
          goneDocuments: some.flatMap(({ names, record }) => (record === null ? [names] : [])),
        });
      }
    } finally {
      this.#remember(batch);
    }
  }

  /** Remembers these writes, the latest at the end, and forgets old ones. */
  #remember(batch: readonly Write[]): void {
    const now = performance.now();
    for (const { names } of batch) {
      this.#recent.delete(nameOf(names));
      this.#recent.set(nameOf(names), { names, at: now });
    }
    for (const [name, { at }] of this.#recent) {
      if (at >= now - recentMs && this.#recent.size <= mostRecent) break;
      this.#recent.delete(name);
    }
  }

  async #writeRecent(): Promise<void> {
    const names = [...this.#recent.values()].map(one => one.names);
    const documents = this.#options.documents.volatileOf(names);
    const there = new Set(documents.map(nameOf));
    await this.#writeAgain({ documents, goneDocuments: names.filter(one => !there.has(nameOf(one))) });
    this.#isLost = false;
  }

  async #writeAgain(change: VolatileChange): Promise<void> {
    try {
      await this.write(change);
    } catch (error) {
      // A host that only measures has no right to write: other hosts do it.
      if (!(error instanceof SoftquotaError && error.code === 'store_refused')) throw error;
    }
  }

  /** Applies the found documents, and deletes those of the names that were not found. */
  #apply(names: readonly DocumentNames[], found: readonly DocumentRecord[], asked: number): void {
    const isOlder = (one: DocumentNames) =>
      this.#waiting.has(nameOf(one)) || (this.#recent.get(nameOf(one))?.at ?? 0) >= asked;
    const there = new Set(found.map(nameOf));
    const documents = found.filter(record => !isOlder(record));
    const goneDocuments = names
      .filter(one => !there.has(nameOf(one)) && !isOlder(one))
      .map(({ kind, key }) => ({ kind, key }));
    if (documents.length + goneDocuments.length === 0) return;
    this.#options.documents.applyVolatile({ documents, goneDocuments });
  }
}

function nameOf({ kind, key }: DocumentNames): string {
  return `${kind} ${key}`;
}
