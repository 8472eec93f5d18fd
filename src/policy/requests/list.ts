/** Requests, to read. */

import type { ChangeSet, Snapshot } from '../../documents/index.ts';
import { SoftquotaError } from '../../errors.ts';
import { printable } from '../../text/index.ts';
import { type RequestDocument, requestKind } from './kinds.ts';

export type RequestEntry = readonly [id: string, request: RequestDocument];

/** An owner's, the latest first. */
export function requestsOf(snapshot: Snapshot, ownerId: number): readonly RequestEntry[] {
  return [...snapshot.ofOwner(requestKind, ownerId)].sort(latestFirst);
}

/** Everybody's, in no order. */
export function everyRequest(snapshot: Snapshot): Iterable<RequestEntry> {
  return snapshot.all(requestKind);
}

/** Puts the later one first, and equal ones always in the same order. */
export function latestFirst([idA, a]: RequestEntry, [idB, b]: RequestEntry): number {
  return b.askedAt - a.askedAt || (idA < idB ? -1 : 1);
}

/** Throws `not_found`. */
export function mustBeRequest(snapshot: Snapshot, id: string): RequestDocument {
  const found = snapshot.get(requestKind, id);
  if (found === undefined) throw new SoftquotaError('not_found', `there is no request ${printable(id)}`);
  return found;
}

/** Throws `not_found`, and `conflict` where it was answered. */
export function mustBeOpen(snapshot: Snapshot, id: string): RequestDocument {
  const found = mustBeRequest(snapshot, id);
  if (found.state === 'open') return found;
  throw new SoftquotaError('conflict', `the request ${printable(id)} was ${found.state} already`);
}

/** When an owner goes. */
export function forgetRequests(changes: ChangeSet, ownerId: number): void {
  for (const [id] of requestsOf(changes, ownerId)) changes.remove(requestKind, id);
}
