/** The store that several hosts keep their documents in together, as far as transactions go. */

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
