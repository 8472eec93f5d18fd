/** The interface to a shared store of documents that transactions need, and their deadline. */

import { messageOf, SoftquotaError } from '../errors.ts';
import type { DocumentRecord, PolicyChange, Position, VolatileChange } from '../store/index.ts';
import { within } from '../within.ts';

/** The store that transactions are written to first if several hosts share the documents. */
export interface SharedDocuments {
  /** Returns the position after the change; null: another change was first. Rejects with `store_away`. */
  commit(change: PolicyChange, basis: Position, mark: string): Promise<Position | null>;
  writeVolatile(change: VolatileChange): Promise<void>;
  /** Resolves once all changes of other hosts up to now are in force here. Rejects with `store_away`. */
  catchUp(): Promise<void>;
  /** Takes a lease for some seconds. False: another host has it. Rejects with `store_away`. */
  takeLease(name: string): Promise<boolean>;
}

/** Separates versioned from volatile documents; `volatile` is null if there are none. */
export function split(
  change: PolicyChange,
  isVolatile: (kind: string) => boolean,
): { readonly versioned: PolicyChange; readonly volatile: VolatileChange | null } {
  const { documents = [], goneDocuments = [] } = change;
  const is = ({ kind }: Pick<DocumentRecord, 'kind'>) => isVolatile(kind);
  const isNot = ({ kind }: Pick<DocumentRecord, 'kind'>) => !isVolatile(kind);
  const volatile = { documents: documents.filter(is), goneDocuments: goneDocuments.filter(is) };
  if (volatile.documents.length + volatile.goneDocuments.length === 0) {
    return { versioned: change, volatile: null };
  }
  const versioned = { documents: documents.filter(isNot), goneDocuments: goneDocuments.filter(isNot) };
  return { versioned: { ...change, ...versioned }, volatile };
}

/**
 * Milliseconds that a transaction waits for the shared store, so that clients have an answer in two seconds.
 */
export const deadlineMs = 1700;

export const notBegun = 'the shared store did not answer in time: nothing was changed. Try again';

export const unknown =
  'the shared store did not answer in time: it is not known whether the change was made. It may come into force within ' +
  'moments; it is safe to send it again';

export const notHereYet =
  'the change is stored, but not yet in force on this host; it comes into force here within moments';

/** Says of a change whose part for the policy was made that the rest may be missing. */
export function madeInPart(error: unknown): never {
  const rest = 'the policy was changed; sessions, last uses and the like that belong to it perhaps not';
  throw new SoftquotaError('store_away', `${rest}: ${messageOf(error)}`, { cause: error });
}

/** Limits the time of several waits together; the time between them does not count. */
export class Deadline {
  #leftMs: number;

  constructor(ms: number) {
    this.#leftMs = ms;
  }

  /** Rejects with `store_away` if the answer is late. The late answer is ignored. */
  async wait<T>(answer: Promise<T>, refusal: string): Promise<T> {
    const begun = performance.now();
    const late = Symbol('late');
    try {
      const found = await within<T, typeof late>(answer, Math.max(this.#leftMs, 0), late);
      if (found === late) throw new SoftquotaError('store_away', refusal);
      return found;
    } finally {
      this.#leftMs -= performance.now() - begun;
    }
  }
}
