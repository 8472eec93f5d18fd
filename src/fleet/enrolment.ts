/**
 * Puts owners on record in the shared store whom only this host knows yet, so that all hosts know them by the
 * same id.
 */

import type { Documents } from '../documents/index.ts';
import { inSlices } from '../slices.ts';
import { newMark, type OwnerRecord, type SharedStore } from '../store/index.ts';

interface EnrolmentOptions {
  readonly documents: Pick<Documents, 'owners' | 'position'>;
  readonly store: Pick<SharedStore, 'commit'>;
}

/** Owners in one change: their names are told to all hosts. */
const mostAtOnce = 500;

export class Enrolment {
  readonly #options: EnrolmentOptions;
  /** Ids of owners whom the store has. */
  readonly #enrolled = new Set<number>();
  #isRefused = false;

  constructor(options: EnrolmentOptions) {
    this.#options = options;
  }

  /** The store has these; `isWhole`: and no others. */
  enrolled(owners: readonly OwnerRecord[], isWhole: boolean): void {
    if (isWhole) this.#enrolled.clear();
    for (const { id } of owners) this.#enrolled.add(id);
  }

  /** This host has no right to change the policy: the others put owners on record. */
  refused(): void {
    this.#isRefused = true;
  }

  /**
   * Puts some of these on record whom the store on this server lacks; true: the store has changed, and has to be looked at.
   * Rejects with `store_away`, and with `store_refused`.
   */
  async enrollSome(owners: Iterable<OwnerRecord>, server: string | null): Promise<boolean> {
    const { documents, store } = this.#options;
    const { position } = documents;
    if (position === null || this.#isRefused) return false;
    const unknown: OwnerRecord[] = [];
    await inSlices(owners, owner => {
      if (unknown.length < mostAtOnce && !this.#enrolled.has(owner.id)) unknown.push(owner);
    });
    if (unknown.length === 0) return false;
    // Another change may have come first, and owners may be others there.
    await store.commit({ owners: unknown }, position, newMark(), server);
    return true;
  }
}
