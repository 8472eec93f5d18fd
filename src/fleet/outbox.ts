/**
 * What this machine says of its owners' usage, kept up to date in the shared store: what has changed, soon, and all of
 * it now and then, and whenever the store may have lost some.
 */

import { createHash } from 'node:crypto';
import { type Ledger, Rounds } from '../ledger/index.ts';
import { leaves } from '../quota/index.ts';
import type { OwnerRecord, SharedStore, ShareRecord } from '../store/index.ts';

export interface OutboxOptions {
  readonly ledger: Ledger;
  readonly store: Pick<SharedStore, 'enroll' | 'write'>;
  readonly host: string;
  /** Others knew these owners before. */
  met(owners: readonly OwnerRecord[]): void;
  /** What could not be written is tried again. */
  failed(error: unknown): void;
  /** Milliseconds between two rounds, at least. */
  readonly pauseMs?: number;
  /** Milliseconds between two times that everything is written. */
  readonly everythingMs?: number;
}

/** Owners in one write: so many that a large first one is quick, so few that no other waits for it. */
const mostAtOnce = 500;

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #rounds: Rounds;
  /** Owners who were put on record in the store, by id. */
  readonly #enrolled = new Set<number>();
  /** What the store was told last, as a digest, by owner's key. */
  #told = new Map<string, string>();
  /** Owners of whom the store is to be told. */
  readonly #due = new Set<string>();
  /** Somebody was looked at who is not on record. */
  #isSomebodyNew = false;
  #writing: Promise<void> = Promise.resolve();
  #everything: NodeJS.Timeout | null = null;

  constructor(options: OutboxOptions) {
    this.#options = options;
    const { ledger, failed, pauseMs = 50 } = options;
    this.#rounds = new Rounds({
      ledger,
      pauseMs,
      retryMs: 1000,
      look: ownerKey => this.#look(ownerKey),
      finish: () => this.#write(),
      failed,
    });
  }

  start(): void {
    this.#rounds.start();
    const { everythingMs = 900_000 } = this.#options;
    this.#everything ??= setInterval(() => this.tellEverything(), everythingMs).unref();
  }

  /** The store has these. */
  enrolled(owners: readonly OwnerRecord[]): void {
    for (const { id } of owners) this.#enrolled.add(id);
  }

  /** The store may have lost what it was told. */
  tellEverything(): void {
    // Of owners who store nothing here any more the store may not have heard.
    for (const ownerKey of this.#told.keys()) this.#due.add(ownerKey);
    this.#told.clear();
    this.#rounds.lookAtAll();
  }

  /** All that the store has, of any machine: what it has of this one, and is no longer so, is told. */
  found(shares: readonly ShareRecord[]): void {
    const { ledger, host } = this.#options;
    const own = shares.filter(share => share.host === host);
    this.#told = new Map(own.map(share => [share.ownerKey, digestOf(share)]));
    for (const [ownerKey, digest] of this.#told) {
      // Of owners whom nobody knows any more, too.
      if (digestOf(ledger.sharing.shareOf(ownerKey)) !== digest) this.#due.add(ownerKey);
    }
    this.#rounds.lookAtAll();
  }

  /** Tells everything again, and puts all owners on record anew: the store may have lost them, too. */
  enrollEverybody(): void {
    this.#enrolled.clear();
    this.tellEverything();
  }

  /**
   * Puts all owners on record whom the store does not know. True: others knew one before. Rejects with `store_away`.
   */
  async enroll(): Promise<boolean> {
    const { ledger, store, met } = this.#options;
    const unknown = ledger.ownerRecords().filter(({ id }) => !this.#enrolled.has(id));
    this.#isSomebodyNew = false;
    let isChanged = false;
    for (let at = 0; at < unknown.length; at += mostAtOnce) {
      const owners = unknown.slice(at, at + mostAtOnce);
      const known = await store.enroll(owners);
      this.enrolled(owners);
      this.enrolled(known);
      met(known);
      isChanged ||= known.length > 0;
    }
    return isChanged;
  }

  async #enrollNew(): Promise<void> {
    try {
      await this.enroll();
    } catch (error) {
      this.#isSomebodyNew = true;
      throw error;
    }
  }

  /** Resolves once all that has changed by now is in the store, or that has failed. */
  settled(): Promise<void> {
    return this.#rounds.settled();
  }

  async close(): Promise<void> {
    if (this.#everything !== null) clearInterval(this.#everything);
    await this.#rounds.close();
  }

  #look(ownerKey: string): void {
    const { sharing } = this.#options.ledger;
    const owner = sharing.owner(ownerKey);
    if (owner !== undefined && !this.#enrolled.has(owner.id)) this.#isSomebodyNew = true;
    const share = sharing.shareOf(ownerKey);
    if (digestOf(share) !== (this.#told.get(ownerKey) ?? nothing)) this.#due.add(ownerKey);
  }

  /** One write after the other. */
  #write(): Promise<void> {
    this.#writing = this.#writing.catch(() => {}).then(() => this.#writeDue());
    return this.#writing;
  }

  async #writeDue(): Promise<void> {
    const { ledger, store, host } = this.#options;
    while (this.#due.size > 0 || this.#isSomebodyNew) {
      await this.#enrollNew();
      const keys = [...this.#due].slice(0, mostAtOnce);
      const said = keys.map(ownerKey => ({ ownerKey, share: ledger.sharing.shareOf(ownerKey) }));
      const shares = said.flatMap(({ share }) => share ?? []);
      const goneShares = said.flatMap(({ ownerKey, share }) => (share === null ? [{ ownerKey, host }] : []));
      // What changes from here on is looked at anew.
      for (const ownerKey of keys) this.#due.delete(ownerKey);
      try {
        await store.write({ shares, goneShares });
      } catch (error) {
        for (const ownerKey of keys) this.#due.add(ownerKey);
        throw error;
      }
      for (const { ownerKey, share } of said) {
        if (share === null) this.#told.delete(ownerKey);
        else this.#told.set(ownerKey, digestOf(share));
      }
    }
  }
}

const nothing = '';

/** The same for all shares that say the same, wherever they were read. */
function digestOf(share: ShareRecord | null): string {
  if (share === null) return nothing;
  const { bytes, units, largest, partial, measuredAt } = share;
  const said = [
    leaves.map(leaf => bytes[leaf] ?? 0),
    units,
    largest.map(({ kind, name, leaf, bytes }) => [kind, name, leaf, bytes]),
    partial,
    measuredAt,
  ];
  return createHash('md5').update(JSON.stringify(said)).digest('base64');
}
