/** Transactions on their way: drafted, and not written yet. */

import type { Work } from '../slices.ts';
import type { EventRecord, Line, PolicyChange } from '../store/index.ts';
import type { ChangeSet } from './change-set.ts';
import type { Kind } from './kind.ts';
import type { ReplicaStanding } from './shared-documents.ts';
import type { Transaction } from './transaction.ts';

/** A change that may rest while it is drafted. */
export type LongChange<T> = (transaction: Transaction) => Work<T>;

/** The state of documents that a transaction is drafted on. */
export interface DraftBasis {
  readonly kinds: ReadonlyMap<string, Kind<unknown>>;
  readonly standing: ReplicaStanding | null;
  /** How often each line had been changed by then. */
  readonly moves: Readonly<Record<Line, number>>;
}

/** A transaction that is drafted. */
export interface Draft<T> extends Omit<DraftBasis, 'kinds'> {
  readonly result: T;
  readonly changes: ChangeSet;
  /** Null: there is nothing to write. */
  readonly records: PolicyChange | null;
  readonly lines: ReadonlySet<Line>;
}

/**
 * The outcome of one attempt at a transaction; `wider`: it turned out to change more lines than it had its
 * turn on, and nothing is done.
 */
export type Attempt<T> =
  | { readonly is: 'done'; readonly result: T }
  | { readonly is: 'wider'; readonly lines: ReadonlySet<Line> };

/** Drafts a change in a transaction that is just begun, with the events that tell of it. */
export function* drafting<T>(
  transaction: Transaction,
  change: LongChange<T>,
  { kinds, standing, moves }: DraftBasis,
  eventsOf: (transaction: Transaction) => Work<readonly EventRecord[]>,
): Work<Draft<T>> {
  const result = yield* change(transaction);
  const drafted = { result, changes: transaction.changes, lines: transaction.lines(kinds), standing, moves };
  if (transaction.isEmpty) return { ...drafted, records: null };
  const events = yield* eventsOf(transaction);
  return { ...drafted, records: { ...(yield* transaction.records()), events } };
}
