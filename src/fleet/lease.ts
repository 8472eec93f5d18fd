/** The turn of one host to tell what all hosts see: crossings of thresholds. */

import type { SharedStore } from '../store/index.ts';

interface LeaseOptions {
  readonly store: Pick<SharedStore, 'leaveTask' | 'takeTask'>;
  readonly host: string;
}

const task = 'thresholds';

/** Less than the store keeps a task for a host that is silent, so that no two think that they have it. */
const ownMs = 8000;

export class Lease {
  readonly #options: LeaseOptions;
  /** Null: this host does not tell yet. */
  #turned: (() => void) | null = null;
  /** On the monotonic clock. */
  #ownUntil = 0;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** From now on `take` may take it; `turned` is called whenever it has become this host's. */
  start(turned: () => void): void {
    this.#turned = turned;
  }

  /** Tells whether it is this host's. */
  get isOwn(): boolean {
    return performance.now() < this.#ownUntil;
  }

  /** Takes it, or keeps it, where no other host has it. Rejects with `store_away`. */
  async take(): Promise<void> {
    if (this.#turned === null) return;
    const { store, host } = this.#options;
    const until = performance.now() + ownMs;
    const had = this.isOwn;
    this.#ownUntil = (await store.takeTask(task, host)) ? until : 0;
    if (this.isOwn && !had) this.#turned();
  }

  /** It is no longer sure whose it is. */
  drop(): void {
    this.#ownUntil = 0;
  }

  /** Leaves it to another host. Rejects with `store_away`. */
  async leave(): Promise<void> {
    const { store, host } = this.#options;
    if (this.isOwn) await store.leaveTask(task, host);
  }
}
