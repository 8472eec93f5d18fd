/**
 * The usage of owners on other hosts, as this host knows it: read as the log names it, or all of it, some
 * owners at a time, while the log is followed already.
 */

import type { UsageShares } from '../ledger/index.ts';
import { inSlices } from '../slices.ts';
import type { Change, SharedStore, ShareRecord, SharesPage } from '../store/index.ts';
import type { DocumentFollower } from './document-follower.ts';
import type { Tell } from './messages.ts';

interface UsageReplicaOptions {
  readonly shares: UsageShares;
  readonly store: Pick<SharedStore, 'hosts' | 'sharePages' | 'sharesOf'>;
  /** This host. */
  readonly host: string;
  readonly documents: Pick<DocumentFollower, 'divergence'>;
  readonly tell: Tell;
}

/** A reading of all shares, as far as it has come. */
interface Reading {
  readonly pages: AsyncIterator<SharesPage>;
  /** Owners whose shares are known here as the store has them. */
  readonly seen: Set<string>;
  /** This host's. */
  readonly own: ShareRecord[];
}

export class UsageReplica {
  readonly #options: UsageReplicaOptions;
  /** Null: all shares are known, as far as the log is. */
  #reading: Reading | null = null;
  #isDue = false;

  constructor(options: UsageReplicaOptions) {
    this.#options = options;
  }

  /** Shares are left to be read. */
  get isReading(): boolean {
    return this.#reading !== null;
  }

  /** All shares are to be read again. */
  get isDue(): boolean {
    return this.#isDue;
  }

  /** Has all shares read again. */
  readAgain(): void {
    this.#isDue = true;
  }

  /** Drops a reading; what comes after it begins again. */
  drop(): void {
    this.#reading = null;
  }

  begin(): void {
    const { store, tell } = this.#options;
    this.#isDue = false;
    tell({ is: 'own shares asked' });
    this.#reading = { pages: store.sharePages()[Symbol.asyncIterator](), seen: new Set(), own: [] };
  }

  /** Takes the shares that the log says are others. Rejects with `store_away`. */
  async follow(changes: readonly Change[]): Promise<void> {
    const ownerKeys = changes.flatMap(change => (change.is === 'shares' ? change.ownerKeys : []));
    if (ownerKeys.length === 0) return;
    await this.#take([...new Set(ownerKeys)], await this.#options.store.sharesOf(ownerKeys));
    for (const ownerKey of ownerKeys) this.#reading?.seen.add(ownerKey);
  }

  /** Reads shares until all are read, or it is time to look at the log again. */
  async readOn(until: number): Promise<void> {
    const { host } = this.#options;
    while (this.#reading !== null) {
      const { pages, seen, own } = this.#reading;
      const { value: page } = await pages.next().catch((error: unknown) => {
        // A reading that broke off cannot be gone on with.
        this.begin();
        throw error;
      });
      for (const ownerKey of page.ownerKeys) seen.add(ownerKey);
      for (const share of page.shares) if (share.host === host) own.push(share);
      await this.#take(page.ownerKeys, page.shares);
      if (page.isLast) await this.#finish(this.#reading);
      else if (performance.now() >= until) return;
    }
  }

  /** Ends a reading: the store has nothing of all other owners. */
  async #finish({ seen, own }: Reading): Promise<void> {
    const { shares, tell } = this.#options;
    await this.#take(
      shares.ownerKeys.filter(ownerKey => !seen.has(ownerKey)),
      [],
    );
    this.#reading = null;
    tell({ is: 'own shares found', shares: own });
  }

  async #take(ownerKeys: readonly string[], shares: readonly ShareRecord[]): Promise<void> {
    const { shares: known } = this.#options;
    const byOwner = Map.groupBy(shares, ({ ownerKey }) => ownerKey);
    const isHeld = await this.#heldHosts();
    await inSlices(ownerKeys, ownerKey => known.takeShares(ownerKey, byOwner.get(ownerKey) ?? [], isHeld));
  }

  /** Gives the hosts whose words are known here: none is gone because the store has lost it. */
  async #heldHosts(): Promise<(host: string) => boolean> {
    const { documents, store } = this.#options;
    if (documents.divergence?.why !== 'emptied') return () => false;
    const heard = new Set((await store.hosts()).map(({ host }) => host));
    return host => !heard.has(host);
  }
}
