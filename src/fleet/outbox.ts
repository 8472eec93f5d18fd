/**
 * Keeps what this host says of its owners' usage up to date in the shared store: what has changed, soon,
 * and all of it now and then, and whenever the store may have lost some.
 *
 * A fresh change goes before what is only told again, so that a push is heard of soon while a hundred
 * thousand owners are told.
 */

import { hash } from 'node:crypto';
import type { Ledger } from '../ledger/index.ts';
import { leaves } from '../quota/index.ts';
import { SerialQueue } from '../serial-queue.ts';
import { inSlices } from '../slices.ts';
import type { OwnerRecord, SharedStore, ShareRecord } from '../store/index.ts';
import type { Membership } from './membership.ts';
import type { Tell } from './messages.ts';

export interface OutboxOptions {
  readonly ledger: Pick<Ledger, 'documents' | 'shares' | 'watch'>;
  readonly store: Pick<SharedStore, 'enroll' | 'write'>;
  readonly host: string;
  /** Asked before anything is told; where it may not be, or this rejects, what there is to tell waits. */
  readonly membership?: Pick<Membership, 'mayTell'>;
  readonly tell: Tell;
  /** Milliseconds between two times that something is written, at least. */
  readonly pauseMs?: number;
}

/** Milliseconds between two times that everything is written. */
const everythingMs = 900_000;
/** Owners in one write: so many that a large first one is quick, so few that no other waits for it. */
const mostAtOnce = 250;
/** Milliseconds before what failed is tried again. */
const retryMs = 1000;

export class Outbox {
  readonly #options: OutboxOptions;
  /** Owners who were put on record in the store, by id. */
  readonly #enrolled = new Set<number>();
  /** Digests of what the store was told last, or `unsure`, by owner's key. */
  #told = new Map<string, string>();
  /** Owners whose usage may have become another. */
  readonly #changed = new Set<string>();
  /** Owners who are looked at when there are no such. */
  readonly #others = new Set<string>();
  /** Everybody is to be looked at. */
  #isAllDue = false;
  /** Nothing of what was told is sure any more. */
  #isAllUnsure = false;
  /** The shares of this host that the store was found to have, as long as they are not compared. */
  #found: readonly ShareRecord[] | null = null;
  /** Owners written since the read-back began; null if none runs. */
  #toldSince: Set<string> | null = null;
  #unwatch: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #everything: NodeJS.Timeout | null = null;
  readonly #tellings = new SerialQueue();
  /** On the monotonic clock. */
  #restUntil = 0;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Begins with everybody of whom the store was not found to have the same. */
  start(): void {
    this.#unwatch ??= this.#options.ledger.watch(ownerKey => {
      // Changes of the policy are no part of the usage that is stored.
      if (ownerKey === null) return;
      this.#changed.add(ownerKey);
      this.#wake();
    });
    this.#everything ??= setInterval(() => this.tellEverything(), everythingMs).unref();
    this.#isAllDue = true;
    this.#wake();
  }

  /** The store has these. */
  enrolled(owners: readonly OwnerRecord[]): void {
    for (const { id } of owners) this.#enrolled.add(id);
  }

  /** The store may have lost what it was told. */
  tellEverything(): void {
    this.#isAllUnsure = true;
    this.#isAllDue = true;
    this.#wake();
  }

  /** From now on it is looked at what the store has of this host. */
  beginReconcile(): void {
    this.#found = null;
    this.#toldSince = new Set();
  }

  /** All that it was found to have: what is no longer so, is told. */
  reconcile(shares: readonly ShareRecord[]): void {
    this.#found = shares;
    this.#isAllUnsure = false;
    this.#isAllDue = true;
    this.#wake();
  }

  /** Tells everything again, and puts all owners on record again: the store may have lost them, too. */
  enrollEverybody(): void {
    this.#enrolled.clear();
    this.tellEverything();
  }

  /**
   * Puts all owners on record whom the store does not know. True: others knew one before. Rejects with
   * `store_away`.
   */
  async enroll(): Promise<boolean> {
    const unknown: OwnerRecord[] = [];
    await inSlices(this.#options.ledger.documents.owners.all, owner => {
      if (!this.#enrolled.has(owner.id)) unknown.push(owner);
    });
    let isChanged = false;
    for (let at = 0; at < unknown.length; at += mostAtOnce) {
      if (await this.#enroll(unknown.slice(at, at + mostAtOnce))) isChanged = true;
    }
    return isChanged;
  }

  /** Resolves once all that has changed by now is in the store, or that has failed. */
  settled(): Promise<void> {
    return this.#tellAll();
  }

  /** Ends after a last try. */
  async close(): Promise<void> {
    await this.settled();
    this.#unwatch?.();
    this.#unwatch = null;
    if (this.#everything !== null) clearInterval(this.#everything);
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  get #isDue(): boolean {
    return this.#isAllDue || this.#changed.size > 0 || this.#others.size > 0;
  }

  #wake(): void {
    if (this.#timer !== null || this.#unwatch === null) return;
    const waitMs = Math.max(this.#restUntil - performance.now(), 0);
    this.#timer = setTimeout(() => void this.#tellAll(), waitMs).unref();
  }

  /** One after the other. */
  #tellAll(): Promise<void> {
    return this.#tellings.run(async () => {
      if (this.#timer !== null) clearTimeout(this.#timer);
      this.#timer = null;
      if (this.#unwatch === null) return;
      const { tell, pauseMs = 50 } = this.#options;
      try {
        let isTold = true;
        while (this.#isDue && isTold) isTold = await this.#tellSome();
        this.#restUntil = performance.now() + (isTold ? pauseMs : retryMs);
        if (!isTold) this.#wake();
      } catch (error) {
        this.#restUntil = performance.now() + retryMs;
        tell({ is: 'telling failed', error });
        this.#wake();
      }
    });
  }

  /** False: nothing may be told now. */
  async #tellSome(): Promise<boolean> {
    const { ledger, store, host, membership } = this.#options;
    if ((await membership?.mayTell()) === false) return false;
    if (this.#isAllDue) await this.#noteAll();
    const shares: ShareRecord[] = [];
    const goneShares: { ownerKey: string; host: string }[] = [];
    const digests = new Map<string, string>();
    const strangers: OwnerRecord[] = [];
    while (Math.max(digests.size, strangers.length) < mostAtOnce) {
      const ownerKeys = [...this.#due(mostAtOnce)];
      if (ownerKeys.length === 0) break;
      const looked = await ledger.shares.sharesOf(ownerKeys);
      for (const [index, ownerKey] of ownerKeys.entries()) {
        const owner = ledger.documents.owners.byKey(ownerKey);
        if (owner !== undefined && !this.#enrolled.has(owner.id)) strangers.push(owner);
        const share = looked[index] ?? null;
        const digest = digestOf(share);
        if (digest === (this.#told.get(ownerKey) ?? nothing)) continue;
        digests.set(ownerKey, digest);
        if (share === null) goneShares.push({ ownerKey, host });
        else shares.push(share);
      }
    }
    // A write counts as unsure until it is acknowledged.
    for (const ownerKey of digests.keys()) {
      this.#told.set(ownerKey, unsure);
      this.#toldSince?.add(ownerKey);
    }
    try {
      await this.#enroll(strangers);
      if (digests.size > 0) await store.write({ shares, goneShares });
    } catch (error) {
      for (const { key } of strangers) this.#others.add(key);
      for (const ownerKey of digests.keys()) this.#others.add(ownerKey);
      throw error;
    }
    // Shares that were found or lost during the write may be older or newer than it.
    if (this.#isAllDue) return true;
    for (const [ownerKey, digest] of digests) {
      if (digest === nothing) this.#told.delete(ownerKey);
      else this.#told.set(ownerKey, digest);
    }
    return true;
  }

  /** Tells of owners who store nothing here any more, of which the store may not have heard either. */
  async #noteAll(): Promise<void> {
    const [found, toldSince, isAllUnsure] = [this.#found, this.#toldSince, this.#isAllUnsure];
    this.#found = null;
    if (found !== null) this.#toldSince = null;
    this.#isAllUnsure = false;
    this.#isAllDue = false;
    if (found !== null) {
      const told = new Map<string, string>();
      await inSlices(found, share => told.set(share.ownerKey, digestOf(share)));
      for (const ownerKey of toldSince ?? []) told.set(ownerKey, this.#told.get(ownerKey) ?? nothing);
      for (const [ownerKey, digest] of this.#told) if (digest === unsure) told.set(ownerKey, unsure);
      this.#told = told;
    }
    await inSlices(this.#told.keys(), ownerKey => {
      if (isAllUnsure) this.#told.set(ownerKey, unsure);
      this.#others.add(ownerKey);
    });
    await inSlices(this.#options.ledger.documents.owners.all, ({ key }) => this.#others.add(key));
  }

  /** Takes out so many at most; what changes from then on is looked at again. */
  *#due(most: number): Generator<string> {
    let taken = 0;
    for (const owners of [this.#changed, this.#others]) {
      for (const ownerKey of owners) {
        if (taken++ >= most) return;
        owners.delete(ownerKey);
        yield ownerKey;
      }
    }
  }

  async #enroll(owners: readonly OwnerRecord[]): Promise<boolean> {
    if (owners.length === 0) return false;
    const { store, tell } = this.#options;
    const known = await store.enroll(owners);
    this.enrolled(owners);
    this.enrolled(known);
    tell({ is: 'owners met', owners: known });
    return known.length > 0;
  }
}

/** Digests of nothing, and of what is none. */
const nothing = '';
const unsure = '?';

/**
 * Digest of a share. Equal shares have equal digests, whether they come from the ledger or from the store.
 */
function digestOf(share: ShareRecord | null): string {
  if (share === null) return nothing;
  const { bytes, unreachable, units, largest, partial, measuredAt } = share;
  const said = [
    leaves.map(leaf => bytes[leaf] ?? 0),
    leaves.map(leaf => unreachable?.[leaf] ?? 0),
    units,
    largest.map(({ kind, name, leaf, bytes: size }) => [kind, name, leaf, size]),
    partial,
    measuredAt,
  ];
  return hash('md5', JSON.stringify(said), 'base64');
}
