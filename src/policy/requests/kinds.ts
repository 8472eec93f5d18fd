/** The documents of requests: who asks for how much more, until when, why, and what the answer is. */

import { z } from 'zod';
import type { ChangeSet, Kind, Snapshot } from '../../documents/index.ts';
import { SoftquotaError } from '../../errors.ts';
import { printable } from '../../text/index.ts';

const whole = z.number().int();

const request = z.strictObject({
  owner: whole,
  askedBy: z.strictObject({ id: whole, name: z.string() }),
  /** Milliseconds since 1970, as all moments here. */
  askedAt: whole,
  bytes: whole,
  /** Null: the administrator sets it when granting. */
  until: whole.nullable(),
  why: z.string(),
  state: z.enum(['open', 'granted', 'declined', 'withdrawn']),
  /** Null while it is open. */
  answer: z
    .strictObject({
      at: whole,
      /** Null: the administrator of a host, or the configuration. */
      by: z.string().nullable(),
      /** Granted by `[requests] AUTO_GRANT`. */
      automatic: z.boolean(),
      words: z.string(),
      /** The granted bytes and time; null if nothing was granted. */
      granted: z.strictObject({ allowance: z.string(), bytes: whole, until: whole }).nullable(),
    })
    .nullable(),
});

export type RequestDocument = Readonly<z.infer<typeof request>>;

/** By the request's id. */
export const requestKind: Kind<RequestDocument> = {
  name: 'request',
  durability: 'versioned',
  schema: request,
  describe: (id, { owner, bytes, state }) => ({ name: id, ownerId: owner, content: { bytes, state } }),
  ownerOf: ({ owner }) => owner,
};

export const requestKinds: readonly Kind<unknown>[] = [requestKind];

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
