/** The store that several hosts keep their documents in together, as far as transactions go. */

import { SoftquotaError } from '../errors.ts';
import {
  type Basis,
  type DocumentRecord,
  type Heads,
  type Line,
  lines,
  type PolicyChange,
  type Position,
  type VolatileChange,
} from '../store/index.ts';

/** Store that transactions are written to first when several hosts share the documents. */
export interface SharedDocuments {
  /**
   * Gives where the store stands with the change; null: another change came first. Rejects with `store_away`.
   */
  commit(change: PolicyChange, basis: Basis, mark: string): Promise<Position | null>;
  /** Resolves once it is written. Rejects with `store_away`. */
  writeVolatile(change: VolatileChange): Promise<void>;
  /** Resolves once what others changed by now is in force here. Rejects with `store_away`. */
  catchUp(): Promise<void>;
  /**
   * Takes what one host does at a time, for some seconds. False: another has it. Rejects with `store_away`.
   */
  takeLease(name: string): Promise<boolean>;
}

/** Position in the shared store of the documents in force. */
export interface ReplicaStanding {
  readonly position: Position;
  /** Null: the last change of each line is not known yet. */
  readonly heads: Heads | null;
}

/** Gives where the documents stand after a change of these lines. */
export function replicaStandingAfter(
  before: ReplicaStanding | null,
  position: Position,
  changed: readonly Line[],
): ReplicaStanding {
  const { version, mark } = position;
  const [policy, account] = lines.map(line =>
    changed.includes(line) ? { version, mark } : (before?.heads?.[line] ?? null),
  );
  return { position, heads: policy && account ? { policy, account } : null };
}

/** Gives what a change of these lines is made upon; null: the heads are not known yet. */
export function basisOf({ position, heads }: ReplicaStanding, changed: ReadonlySet<Line>): Basis | null {
  if (heads === null) return null;
  return { generation: position.generation, heads, lines: [...changed] };
}

/** Parts what has a version from what has none; null: nothing has none. */
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
 * Time that a transaction waits for the shared store, in milliseconds: an answer comes within two seconds.
 */
export const deadlineMs = 1700;

export const notBegun = 'the shared store did not answer in time: nothing was changed. Try again';

export const unknown =
  'the shared store did not answer in time: it is not known whether the change was made. It may come into force within ' +
  'moments; it is safe to send it again';

export const notHereYet =
  'the change is stored, but not yet in force on this host; it comes into force here within moments';

/**
 * A bound on how long somebody waits for others, all in all: time that this process itself spends on what was
 * asked for does not count.
 */
export class Deadline {
  #leftMs: number;

  constructor(ms: number) {
    this.#leftMs = ms;
  }

  /**
   * Rejects with `store_away` where the answer is not there in time; whatever becomes of it then, nobody
   * hears of it.
   */
  async wait<T>(answer: Promise<T>, refusal: string): Promise<T> {
    const begun = performance.now();
    const { promise: over, reject } = Promise.withResolvers<never>();
    // The answer may have arrived while this process was busy; it is read before what is immediate.
    const giveUp = () => reject(new SoftquotaError('store_away', refusal));
    const timer = setTimeout(() => setImmediate(giveUp), Math.max(this.#leftMs, 0));
    try {
      return await Promise.race([answer, over]);
    } finally {
      clearTimeout(timer);
      this.#leftMs -= performance.now() - begun;
    }
  }
}
