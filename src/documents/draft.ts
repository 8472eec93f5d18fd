/** Transactions on their way: drafted, and not written yet. */

import { type Work, workInSlices } from '../slices.ts';
import type { EventRecord, Line, PolicyChange } from '../store/index.ts';
import type { ChangeSet } from './change-set.ts';
import { changedAllTheTime } from './deadline.ts';
import type { Kind } from './kind.ts';
import type { ReplicaStanding } from './shared-documents.ts';
import type { Transaction } from './transaction.ts';

/** A change that may rest while it is drafted. */
export type LongChange<T> = (transaction: Transaction) => Work<T>;

/** The state of documents that a transaction is drafted on. */
export interface DraftBasis {
  readonly kinds: ReadonlyMap<string, Kind<unknown>>;
  readonly standing: ReplicaStanding | null;
  /** Number of times that each line had been changed by then. */
  readonly moves: Readonly<Record<Line, number>>;
}

/** A transaction that is drafted. */
export interface DraftedTransaction<T> extends Omit<DraftBasis, 'kinds'> {
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

/** Drafts of one transaction, when others' changes come in between. */
const mostTries = 20;

/** Makes one attempt after the other, until one is `done`; null: what others changed came in between. */
export async function attempted<T>(attempt: () => Promise<{ readonly done: T } | null>): Promise<T> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const outcome = await attempt();
    if (outcome !== null) return outcome.done;
  }
  throw changedAllTheTime();
}

/** Completes a transaction that a change has been drafted in, with the events that tell of it. */
export function* completed<T>(
  transaction: Transaction,
  result: T,
  { kinds, standing, moves }: DraftBasis,
  eventsOf: () => Work<readonly EventRecord[]>,
): Work<DraftedTransaction<T>> {
  const drafted = { result, changes: transaction.changes, lines: transaction.lines(kinds), standing, moves };
  if (transaction.isEmpty) return { ...drafted, records: null };
  const events = yield* eventsOf();
  return { ...drafted, records: { ...(yield* transaction.records()), events } };
}

/** Does work on what is in force, and again where that changes meanwhile, as `moves` tells. */
export function workUpToDate<T>(begin: () => Work<T>, moves: () => DraftBasis['moves']): Promise<T> {
  return attempted(async () => {
    const before = moves();
    try {
      const done = await workInSlices(begin());
      return moves() === before ? { done } : null;
    } catch (error) {
      if (moves() === before) throw error;
      return null;
    }
  });
}
