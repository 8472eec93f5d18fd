/**
 * Following the shared store: what others changed is in force here soon after they were told that it is kept.
 *
 * The store's log is asked every second, and at once when it says that there is something new. Who missed a
 * part of the log reads everything: documents and owners at once, and then, some owners at a time, what all
 * hosts say that is stored, while the log is followed already.
 */

import type { Change, SharedStore } from '../store/index.ts';
import type { DocumentFollower } from './document-follower.ts';
import type { Membership } from './membership.ts';
import type { UsageReplica } from './usage-replica.ts';

interface FollowingOptions {
  readonly documents: DocumentFollower;
  readonly usage: UsageReplica;
  readonly store: Pick<SharedStore, 'changesAfter' | 'state'>;
  /** Its name is kept before each look at the store; where that rejects, so does the look. */
  readonly membership: Pick<Membership, 'mayTell'>;
  /** Milliseconds that shares are read for, until the log is looked at again; 300 unless given. */
  readonly readingMs?: number;
}

/** Entries of the log that are read at once. */
const mostEntries = 1000;

export class LogFollower {
  readonly #options: FollowingOptions;
  /** The number of the last entry that is in force here; null: everything has to be read. */
  #last: number | null = null;
  #running: Promise<void> | null = null;
  #again: Promise<void> | null = null;

  constructor(options: FollowingOptions) {
    this.#options = options;
  }

  /** Tells whether everything was read once, and nothing was missed since. */
  get isComplete(): boolean {
    return this.#last !== null && !this.isReading;
  }

  /** Shares are left to be read, by another `sync`. */
  get isReading(): boolean {
    return this.#options.usage.isReading;
  }

  /**
   * Resolves once all that others changed by now is in force here, and what they stored, too, unless
   * `isReading`. Rejects with `store_away` or `store_refused`.
   */
  sync(): Promise<void> {
    if (this.#running === null) {
      this.#running = this.#sync().finally(() => {
        this.#running = null;
      });
      return this.#running;
    }
    // The read that runs may have begun before a change that this caller waits for.
    const running = this.#running;
    this.#again ??= running
      .catch(() => {})
      .then(() => {
        this.#again = null;
        return this.sync();
      });
    return this.#again;
  }

  async #sync(): Promise<void> {
    const { documents, usage, membership, readingMs = 300 } = this.#options;
    await membership.mayTell();
    if (this.#last === null || !(await this.#follow(this.#last))) {
      usage.drop();
      this.#last = await documents.takeAll();
      usage.begin();
    } else if (usage.isDue) usage.begin();
    await usage.readOn(performance.now() + readingMs);
  }

  /** Takes what the log tells since; false: everything has to be read. */
  async #follow(last: number): Promise<boolean> {
    const { documents, usage, store } = this.#options;
    const known = documents.known();
    const state = await store.state();
    documents.meetServer(state);
    const changes = state.lastChange === last ? [] : await this.#changesSince(last);
    if (changes === null) {
      this.#last = null;
      documents.missed();
      return false;
    }
    if (!(await documents.follow(known, state, changes))) return false;
    await usage.follow(changes);
    this.#last = changes.at(-1)?.number ?? last;
    return true;
  }

  /** All entries since; null: there is a gap. */
  async #changesSince(last: number): Promise<readonly Change[] | null> {
    const all: Change[] = [];
    for (;;) {
      const changes = await this.#options.store.changesAfter(all.at(-1)?.number ?? last, mostEntries);
      if (changes === null) return null;
      all.push(...changes);
      if (changes.length < mostEntries) return all;
    }
  }
}
