/**
 * Volatile documents that hosts share: written to the shared store as they change, some at a time, and read
 * from it as other hosts change them. The last write wins, whatever it was based on.
 *
 * An answer of the store is as old as its request: it never undoes what this host has written since.
 */

import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Documents } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import {
  type DocumentNames,
  type DocumentRecord,
  placeIn,
  type SharedStore,
  type VolatileChange,
  type VolatileWrite,
} from '../store/index.ts';
import { inSlices, parts } from '../turns.ts';

interface VolatileDocumentsOptions {
  readonly documents: Pick<Documents, 'applyVolatile' | 'volatileOf' | 'volatileRecords'>;
  readonly store: Pick<SharedStore, 'volatile' | 'volatileAfter' | 'writeVolatile'>;
}

/** Milliseconds between two writes, so that they are few even if many documents change. */
const pauseMs = 20;
/** Documents in one write. */
const mostAtOnce = 1000;
/** Documents of other hosts that are applied in one turn of the event loop. */
const mostApplied = 250;
/** Milliseconds for which a write is remembered, since a server that takes over may have lost it. */
const recentMs = 60_000;
/** Limit of documents whose writes are remembered. */
const mostRecent = 20_000;

export class VolatileDocuments {
  readonly #options: VolatileDocumentsOptions;
  #waiting = new Map<string, VolatileWrite>();
  /** The documents of the write under way: until it has ended, no earlier answer replaces them. */
  #underWay: ReadonlyMap<string, VolatileWrite> = new Map();
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
    const gone = goneDocuments.map(({ kind, key }) => ({ kind, key, text: null }));
    for (const one of [...gone, ...documents]) this.#waiting.set(nameOf(one), one);
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
    const asked = performance.now();
    const writes = goesOn ? await this.#options.store.volatileAfter(known.number) : null;
    // A new epoch is drawn only in an empty store: the documents of the old one are lost, not deleted.
    const wasEmptied = now !== null && known !== null && known.epoch !== now.epoch;
    // An older copy of the store has taken its place.
    const isOlder = now !== null && known?.epoch === now.epoch && known.number > now.number;
    if (writes === null) await this.#readAll(place, { hasLost: wasEmptied || isOlder, isOlder });
    else await this.#apply(writes, asked);
    this.#place = place;
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
    const found = place === null ? [] : await store.volatile();
    const changed: VolatileWrite[] = [];
    await inSlices(found, record => {
      const text = known.get(nameOf(record))?.text;
      if (isOlder && text !== undefined && text !== record.text) return;
      if (text !== record.text) changed.push(record);
      known.delete(nameOf(record));
    });
    const keepsMissing = place === null || hasLost;
    await inSlices(keepsMissing ? [] : known.values(), gone => changed.push({ ...gone, text: null }));
    for (const some of keepsMissing ? parts([...known.values()], mostAtOnce) : []) {
      await this.#writeAgain({ documents: some });
    }
    await this.#apply(changed, asked);
  }

  async #writeWaiting(): Promise<void> {
    this.#underWay = this.#waiting;
    this.#waiting = new Map();
    this.#next = null;
    const writing = this.#write([...this.#underWay.values()]);
    this.#lastWrite = writing.catch(() => {}).then(() => delay(pauseMs));
    return writing;
  }

  async #write(batch: readonly VolatileWrite[]): Promise<void> {
    try {
      for (const some of parts(batch, mostAtOnce)) {
        await this.#options.store.writeVolatile(changeOf(some)).finally(() => this.#remember(some));
      }
    } finally {
      this.#underWay = new Map();
    }
  }

  /** Remembers these writes, the latest at the end, and forgets old ones. */
  #remember(batch: readonly VolatileWrite[]): void {
    const now = performance.now();
    for (const { kind, key } of batch) {
      const names = { kind, key };
      this.#recent.delete(nameOf(names));
      this.#recent.set(nameOf(names), { names, at: now });
    }
    this.#forgetOld(now);
  }

  #forgetOld(now: number): void {
    for (const [name, { at }] of this.#recent) {
      if (at >= now - recentMs && this.#recent.size <= mostRecent) break;
      this.#recent.delete(name);
    }
  }

  async #writeRecent(): Promise<void> {
    // Another host may have replaced or ended since what was written long ago.
    this.#forgetOld(performance.now());
    const names = [...this.#recent.values()].map(one => one.names);
    for (const some of parts(names, mostAtOnce)) {
      const documents = this.#options.documents.volatileOf(some);
      const there = new Set(documents.map(nameOf));
      await this.#writeAgain({ documents, goneDocuments: some.filter(one => !there.has(nameOf(one))) });
    }
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

  /** Applies writes of other hosts, some at a time, but none that is older than one of this host. */
  async #apply(writes: readonly VolatileWrite[], asked: number): Promise<void> {
    for (const some of parts(writes, mostApplied)) {
      const newer = some.filter(write => !this.#isOlder(write, asked));
      if (newer.length > 0) this.#options.documents.applyVolatile(changeOf(newer));
      await nextTurn();
    }
  }

  /** Tells whether an answer to a question of that time is older than a write of this host. */
  #isOlder(names: DocumentNames, asked: number): boolean {
    const name = nameOf(names);
    const isWritten = this.#waiting.has(name) || this.#underWay.has(name);
    return isWritten || (this.#recent.get(name)?.at ?? 0) >= asked;
  }
}

function changeOf(writes: readonly VolatileWrite[]): VolatileChange {
  return {
    documents: writes.flatMap(({ kind, key, text }) => (text === null ? [] : { kind, key, text })),
    goneDocuments: writes.flatMap(({ kind, key, text }) => (text === null ? { kind, key } : [])),
  };
}

function nameOf({ kind, key }: DocumentNames): string {
  return `${kind} ${key}`;
}
