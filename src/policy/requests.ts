/**
 * Requests of owners for more space: who asks for how many bytes, until when and why, and the answer.
 *
 * An owner has at most one open request, so that administrators read one and not ten. Answered requests stay
 * for a while. A grant creates an allowance in the same transaction; a refusal has a message. Each step has
 * an event.
 */

import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { AuditContext, ChangeSet, Kind, Snapshot, Transaction } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import { isoTime, printable } from '../text.ts';
import { allowanceFaults, allowancesOf, createAllowance, mostAllowances } from './allowances.ts';

const whole = z.number().int();

const request = z.strictObject({
  owner: whole,
  askedBy: z.strictObject({ id: whole, name: z.string() }),
  /** Milliseconds since 1970, like all times here. */
  askedAt: whole,
  bytes: whole,
  /** Null: the administrator sets it when granting. */
  until: whole.nullable(),
  why: z.string(),
  state: z.enum(['open', 'granted', 'declined', 'withdrawn']),
  /** Null while the request is open. */
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

type RequestDocument = Readonly<z.infer<typeof request>>;

const requestKind: Kind<RequestDocument> = {
  name: 'request',
  durability: 'versioned',
  schema: request,
  describe: (id, { owner, bytes, state }) => ({ name: id, ownerId: owner, content: { bytes, state } }),
  ownerOf: ({ owner }) => owner,
};

export const requestKinds: readonly Kind<unknown>[] = [requestKind];

export type RequestEntry = readonly [id: string, request: RequestDocument];

/** Returns an owner's requests, latest first. */
export function requestsOf(snapshot: Snapshot, ownerId: number): readonly RequestEntry[] {
  return [...snapshot.ofOwner(requestKind, ownerId)].sort(latestFirst);
}

export function everyRequest(snapshot: Snapshot): Iterable<RequestEntry> {
  return snapshot.all(requestKind);
}

export function openRequests(snapshot: Snapshot): number {
  let open = 0;
  for (const [, { state }] of everyRequest(snapshot)) if (state === 'open') open += 1;
  return open;
}

/** Sorts the latest request first, ties by id. */
export function latestFirst([idA, a]: RequestEntry, [idB, b]: RequestEntry): number {
  return b.askedAt - a.askedAt || (idA < idB ? -1 : 1);
}

/** Throws `not_found`. */
export function mustBeRequest(snapshot: Snapshot, id: string): RequestDocument {
  const found = snapshot.get(requestKind, id);
  if (found === undefined) throw new SoftquotaError('not_found', `there is no request ${printable(id)}`);
  return found;
}

/** Throws `not_found`, or `conflict` if the request was answered. */
function mustBeOpen(snapshot: Snapshot, id: string): RequestDocument {
  const found = mustBeRequest(snapshot, id);
  if (found.state === 'open') return found;
  throw new SoftquotaError('conflict', `the request ${printable(id)} was ${found.state} already`);
}

/** The answer that grants a request; absent `bytes` and `until` are those of the request. */
interface Grant {
  readonly bytes?: number | undefined;
  /** Milliseconds since 1970. */
  readonly until?: number | undefined;
  readonly words: string;
  /** The name of the user who grants; null: the administrator of a host, or the configuration. */
  readonly by: string | null;
  readonly isAutomatic: boolean;
  readonly now: number;
}

/**
 * Grants a request. Throws `not_found`, `conflict` if it was answered or the owner has too many allowances,
 * or `invalid` if the allowance is invalid.
 */
export function grantRequest(transaction: Transaction, id: string, granted: Grant): RequestEntry {
  const { words, by, isAutomatic: automatic, now } = granted;
  const asked = mustBeOpen(transaction.changes, id);
  const end = granted.until ?? asked.until;
  if (end === null) {
    throw new SoftquotaError('invalid', 'until: the request does not say until when, so the grant has to');
  }
  const allowance = createAllowance(transaction.changes, asked.owner, {
    bytes: granted.bytes ?? asked.bytes,
    until: end,
    why: asked.why,
    grantedBy: by,
    grantedAt: now,
    request: id,
    automatic,
  });
  const { bytes, until } = allowance;
  const answer = { at: now, by, automatic, words, granted: { allowance: allowance.id, bytes, until } };
  return ended(transaction, id, { ...asked, state: 'granted', answer });
}

/** Declines a request, with a message to the owner. Throws `not_found`, or `conflict` if it was answered. */
export function declineRequest(
  transaction: Transaction,
  id: string,
  { words, by, now }: Pick<Grant, 'words' | 'by' | 'now'>,
): RequestEntry {
  const answer = { at: now, by, automatic: false, words, granted: null };
  return ended(transaction, id, { ...mustBeOpen(transaction.changes, id), state: 'declined', answer });
}

/** Withdraws a request of that owner. Throws `not_found`, or `conflict` if it was answered. */
export function withdraw(transaction: Transaction, ownerName: string, id: string, now: number): void {
  const owner = transaction.mustBeOwner(ownerName);
  const { changes } = transaction;
  if (changes.get(requestKind, id)?.owner !== owner.id) {
    throw new SoftquotaError('not_found', `${printable(owner.name)} has no request ${printable(id)}`);
  }
  const answer = { at: now, by: null, automatic: false, words: '', granted: null };
  ended(transaction, id, { ...mustBeOpen(changes, id), state: 'withdrawn', answer });
}

type Ended = RequestDocument & { readonly state: Exclude<RequestDocument['state'], 'open'> };

function ended(transaction: Transaction, id: string, request: Ended): RequestEntry {
  transaction.changes.put(requestKind, id, request);
  const owner = transaction.ownerById(request.owner);
  if (owner === undefined) {
    throw new SoftquotaError('not_found', 'the owner that the request is for is no more');
  }
  transaction.auditAs(auditRequest(owner, request.state, id, request));
  return [id, request];
}

/** Returns the event of a step. For a granted request it has the granted bytes and time. */
function auditRequest(
  owner: AuditContext['owner'],
  action: 'asked' | Ended['state'],
  id: string,
  { bytes, until, why, answer }: RequestDocument,
): AuditContext {
  const granted = answer?.granted ?? null;
  const end = granted?.until ?? until;
  const facts = {
    owner: owner.name,
    action,
    request: id,
    bytes: granted?.bytes ?? bytes,
    until: isoTime(end),
    words: action === 'asked' || answer?.automatic === true ? why : (answer?.words ?? ''),
    automatic: answer?.automatic ?? false,
    allowance: granted?.allowance ?? null,
  };
  return { kind: 'request', owner, facts };
}

interface NewRequest {
  readonly owner: string;
  readonly askedBy: { readonly id: number; readonly name: string };
  readonly bytes: number;
  /** Milliseconds since 1970; null: the administrator sets it when granting. */
  readonly until: number | null;
  readonly why: string;
}

/** Most requests of one owner that are stored, except that the latest automatic grant always stays. */
const mostAnswered = 20;
/** Most requests of one owner within a day, since each is an event that somebody has to read. */
const mostADay = 5;
const dayMs = 86_400_000;

/**
 * Creates a request, and grants it if `autoGrant` allows that. Throws `not_found` if there is no such owner,
 * `invalid` with all faults, `conflict` if a request is open, or `too_often` if the owner made too many.
 */
export function ask(
  transaction: Transaction,
  wanted: NewRequest,
  { now, autoGrant }: { readonly now: number; readonly autoGrant: AutoGrant | null },
): RequestEntry {
  const { changes } = transaction;
  const owner = transaction.mustBeOwner(wanted.owner);
  const { bytes, until, why, askedBy } = wanted;
  FaultList.of(allowanceFaults({ bytes, until: until ?? now + dayMs }, now)).throwIfAny();
  const before = requestsOf(changes, owner.id);
  mustBeInTurn(owner.name, before, now);
  forgetOldest(changes, before);
  const id = randomBytes(5).toString('hex');
  const asked = { owner: owner.id, askedBy, askedAt: now, bytes, until, why };
  const request: RequestDocument = { ...asked, state: 'open', answer: null };
  changes.put(requestKind, id, request);
  // Only an administrator can end another allowance to make room.
  const isFull = allowancesOf(changes, owner.id, now).length >= mostAllowances;
  const end = autoGrant === null || isFull ? null : automaticUntil(autoGrant, request, before, now);
  if (end !== null) {
    return grantRequest(transaction, id, { bytes, until: end, words: '', by: null, isAutomatic: true, now });
  }
  transaction.auditAs(auditRequest(owner, 'asked', id, request));
  return [id, request];
}

function mustBeInTurn(ownerName: string, before: readonly RequestEntry[], now: number): void {
  const open = before.find(([, { state }]) => state === 'open');
  const name = printable(ownerName);
  if (open !== undefined) {
    throw new SoftquotaError(
      'conflict',
      `${name} has an open request already: ${open[0]}. Withdraw it first`,
    );
  }
  const ofLate = before.filter(([, { askedAt }]) => askedAt > now - dayMs);
  if (ofLate.length >= mostADay) {
    throw new SoftquotaError(
      'too_often',
      `${name} asked ${ofLate.length} times within a day: ask again later`,
    );
  }
}

/** Keeps the latest automatic grant, since the time of the next one depends on it. */
function forgetOldest(changes: ChangeSet, before: readonly RequestEntry[]): void {
  const automatic = before.find(([, { answer }]) => answer?.automatic === true);
  for (const entry of before.slice(mostAnswered - 1)) {
    if (entry !== automatic) changes.remove(requestKind, entry[0]);
  }
}

/** `2G for 30d, once in 90d`. */
export interface AutoGrant {
  /** The most bytes of a grant. */
  readonly bytes: number;
  /** The longest time of a grant, in milliseconds. */
  readonly forMs: number;
  /** An owner gets at most one automatic grant in so many milliseconds. */
  readonly everyMs: number;
}

/**
 * Returns the end of an automatic grant; null: the request waits for an administrator. `before` has the
 * owner's earlier requests.
 */
function automaticUntil(
  { bytes, forMs, everyMs }: AutoGrant,
  asked: Pick<RequestDocument, 'bytes' | 'until'>,
  before: readonly RequestEntry[],
  now: number,
): number | null {
  const latest = now + forMs;
  const until = asked.until ?? latest;
  if (asked.bytes > bytes || until > latest + dayMs) return null;
  const isUsed = before.some(([, { answer }]) => answer?.automatic === true && answer.at > now - everyMs);
  return isUsed ? null : Math.min(until, latest);
}
