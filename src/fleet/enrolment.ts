/**
 * Puts owners on record in the shared store whom only this host knows yet, so that all hosts know them by the
 * same id.
 */

import type { Documents } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import { inSlices } from '../slices.ts';
import { newMark, type OwnerRecord, type SharedStore } from '../store/index.ts';
import type { DocumentFollower } from './document-follower.ts';

interface EnrolmentOptions {
  readonly documents: Pick<Documents, 'owners' | 'position'>;
  readonly store: Pick<SharedStore, 'commit' | 'policy'>;
  readonly follower: Pick<DocumentFollower, 'divergence' | 'server' | 'settled'>;
  /** Resolves once what others changed by now is in force here. */
  sync(): Promise<void>;
}

/** Owners in one change: their names are told to all hosts. */
const mostAtOnce = 500;
/** Milliseconds after a refusal in which nothing is tried. */
const refusedMs = 60_000;

export class Enrolment {
  readonly #options: EnrolmentOptions;
  /** Ids of owners whom the store has. */
  readonly #enrolled = new Set<number>();
  /** All of them were read once. */
  #isLoaded = false;
  /** On the monotonic clock. */
  #refusedUntil = 0;

  constructor(options: EnrolmentOptions) {
    this.#options = options;
  }

  /** The store has these; `isWhole`: and no others. */
  enrolled(owners: readonly OwnerRecord[], isWhole: boolean): void {
    if (isWhole) {
      this.#enrolled.clear();
      this.#isLoaded = true;
    }
    for (const { id } of owners) this.#enrolled.add(id);
  }

  /**
   * Puts these on record in the store, as they are known after each look; false: all of them were, or it is
   * left to others. Rejects with `store_away`.
   */
  async enroll(owners: () => Iterable<OwnerRecord>): Promise<boolean> {
    const { follower, sync } = this.#options;
    let hasChanged = false;
    try {
      await follower.settled();
      while (follower.divergence === null && (await this.#enrollSome(owners()))) {
        hasChanged = true;
        await sync();
      }
    } catch (error) {
      if (!(error instanceof SoftquotaError && error.code === 'store_refused')) throw error;
      // This host has no right to change the policy, at least now: the others put owners on record.
      this.#refusedUntil = performance.now() + refusedMs;
    }
    return hasChanged;
  }

  /**
   * Puts some of these on record whom the store on this server lacks; true: the store has changed, and has to
   * be looked at. Rejects with `store_away`, and with `store_refused`.
   */
  async #enrollSome(owners: Iterable<OwnerRecord>): Promise<boolean> {
    const { documents, store, follower } = this.#options;
    const { position } = documents;
    if (position === null || performance.now() < this.#refusedUntil) return false;
    if (!this.#isLoaded) {
      const { state, policy } = await store.policy();
      if (state.position?.mark !== position.mark) return true;
      this.enrolled(policy.owners, true);
    }
    const unknown: OwnerRecord[] = [];
    await inSlices(owners, owner => {
      if (unknown.length < mostAtOnce && !this.#enrolled.has(owner.id)) unknown.push(owner);
    });
    if (unknown.length === 0) return false;
    // Another change may have come first, and owners may be others there.
    await store.commit({ owners: unknown }, position, newMark(), follower.server);
    return true;
  }
}
