/** Documents by kind and key. */

import type { Kind } from './kind.ts';

/** Documents to read: those in force, or those that a transaction would leave. */
export interface Snapshot {
  get<T>(kind: Kind<T>, key: string): T | undefined;
  /** In no order. */
  all<T>(kind: Kind<T>): Iterable<readonly [key: string, document: T]>;
  /** The documents of an owner, in no order; the kind says whose a document is. */
  ofOwner<T>(kind: Kind<T>, ownerId: number): Iterable<readonly [key: string, document: T]>;
}

export type DocumentsByKind = Map<string, Map<string, unknown>>;

/** Gives the documents of a kind: they were put there by `put`, or checked by the kind's own schema. */
export function documentsOf<T>(documents: DocumentsByKind, kind: Kind<T>): Map<string, T>;
export function documentsOf(documents: DocumentsByKind, kind: Kind<unknown>): Map<string, unknown> {
  return documents.get(kind.name) ?? new Map();
}
