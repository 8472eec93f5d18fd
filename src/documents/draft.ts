/** Transactions on their way. */

import type { Line, PolicyChange } from '../store/index.ts';
import type { ChangeSet } from './change-set.ts';
import type { Standing } from './shared-documents.ts';

/** A transaction that is drafted, and not written yet. */
export interface Draft<T> {
  readonly result: T;
  readonly changes: ChangeSet;
  /** Null: there is nothing to write. */
  readonly records: PolicyChange | null;
  readonly lines: ReadonlySet<Line>;
  /** The standing that it was drafted on. */
  readonly standing: Standing | null;
  /** How often each line had been changed by then. */
  readonly moves: Readonly<Record<Line, number>>;
}

/**
 * The outcome of one attempt at a transaction; `wider`: it turned out to change more lines than it had its
 * turn on, and nothing is done.
 */
export type Attempt<T> =
  | { readonly is: 'done'; readonly result: T }
  | { readonly is: 'wider'; readonly lines: ReadonlySet<Line> };
