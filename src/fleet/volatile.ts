/**
 * Volatile documents that hosts share: written to the shared store as they change, some at a time, and read
 * from it as others change them. Of two writers the last one wins, and nothing is made upon anything.
 *
 * An answer is taken as of when it was asked for: what this host itself has written since then is not undone
 * by it.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Documents } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import { inSlices } from '../slices.ts';
import type { DocumentNames, DocumentRecord, SharedStore, VolatileChange } from '../store/index.ts';

interface VolatileDocumentsOptions {
  readonly documents: Pick<Documents, 'applyVolatile' | 'volatileOf' | 'volatileRecords'>;
  readonly store: Pick<SharedStore, 'volatile' | 'writeVolatile'>;
}

/** A document that is put, or, without a record, taken out. */
interface Write {
  readonly names: DocumentNames;
  readonly record: DocumentRecord | null;
}

/** Milliseconds between two writes, so that the log of changes stays short however many there are. */
const pauseMs = 20;
/** Documents in one write. */
const mostAtOnce = 1000;
/**
 * Milliseconds for which a write is remembered, since a server that takes another's place may have lost it.
 */
const recentMs = 60_000;
/** Documents whose writes are remembered, at most. */
const mostRecent = 20_000;

export class VolatileDocuments {
  readonly #options: VolatileDocumentsOptions;
  #waiting = new Map<string, Write>();
  /** The write that takes what waits; null: nothing does. */
  #next: Promise<void> | null = null;
  #lastWrite: Promise<unknown> = Promise.resolve();
  /** The names that were written lately, and when, on the monotonic clock. */
  readonly #recent = new Map<string, { readonly names: DocumentNames; at: number }>();
  #isLost = false;

  constructor(options: VolatileDocumentsOptions) {
    this.#options = options;
  }

  /** Resolves once it is in the shared store; rejects with `store_away`. */
  write({ documents = [], goneDocuments = [] }: VolatileChange): Promise<void> {
    for (const { kind, key } of goneDocuments) this.#add({ kind, key }, null);
    for (const document of documents) this.#add(document, document);
    this.#next ??= this.#lastWrite.then(() => this.#writeWaiting());
    return this.#next;
  }

  /** Another server may have lost what was written last: the next reading writes it again. */
  lost(): void {
    this.#isLost = true;
  }

  /** Takes these documents as the shared store has them. Rejects with `store_away`. */
  async read(names: readonly DocumentNames[]): Promise<void> {
    const asked = performance.now();
    for (let at = 0; at < names.length; at += mostAtOnce) {
      const some = names.slice(at, at + mostAtOnce);
      const found = (await this.#options.store.volatile(some)) ?? [];
      this.#apply(some, found, asked);
    }
  }

  /**
   * Takes all documents as the shared store has them. One that has none and had this host's before has lost
   * them: it is given those known here. Rejects with `store_away`.
   */
  async readAll({ hadOurs }: { readonly hadOurs: boolean }): Promise<void> {
    const { documents, store } = this.#options;
    if (this.#isLost) await this.#writeRecent();
    const asked = performance.now();
    const found = await store.volatile(null);
    const known = new Map<string, DocumentRecord>();
    await inSlices(documents.volatileRecords(), record => known.set(nameOf(record), record));
    if (found === null && hadOurs) {
      if (known.size > 0) await this.#writeAgain({ documents: [...known.values()] });
      return;
    }
    const changed: DocumentRecord[] = [];
    await inSlices(found ?? [], record => {
      if (known.get(nameOf(record))?.text !== record.text) changed.push(record);
      known.delete(nameOf(record));
    });
    this.#apply([...changed, ...known.values()], changed, asked);
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
    // Until it is known to be written, and for a while, nothing that was read before takes its place.
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

  /** The latest at the end. */
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
      // A host that only measures leaves it to the others.
      if (!(error instanceof SoftquotaError && error.code === 'store_refused')) throw error;
    }
  }

  /** Applies documents; those of the names that are not found are gone. */
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
