/**
 * Asking for more. An owner has one open request, so that administrators read one and not ten, and what was
 * answered is kept for a while.
 */

import { randomBytes } from 'node:crypto';
import type { ChangeSet, Transaction } from '../../documents/index.ts';
import { FaultList, SoftquotaError } from '../../errors.ts';
import { printable } from '../../text/index.ts';
import { allowanceFaults } from '../allowances.ts';
import { auditRequest, grantRequest } from './answer.ts';
import { mustBeOpen, type RequestDocument, type RequestEntry, requestKind, requestsOf } from './kinds.ts';

/** A request that is to be made. */
interface NewRequest {
  /** The name of the owner who is to have more. */
  readonly owner: string;
  readonly askedBy: { readonly id: number; readonly name: string };
  readonly bytes: number;
  /** Milliseconds since 1970; null: the administrator sets it when granting. */
  readonly until: number | null;
  readonly why: string;
}

/** Answered requests of one owner that are kept. */
const mostAnswered = 20;
/** Requests of one owner within a day: each is an event, and something to read. */
const mostADay = 5;
const dayMs = 86_400_000;

/**
 * Makes a request, and grants it where `autoGrant` does. Throws `not_found` where there is no such owner,
 * `invalid` with every fault, `conflict` where a request is open, `too_often` where too many were made of
 * late.
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
  const request: RequestDocument = {
    owner: owner.id,
    askedBy: { id: askedBy.id, name: askedBy.name },
    askedAt: now,
    bytes,
    until,
    why,
    state: 'open',
    answer: null,
  };
  changes.put(requestKind, id, request);
  const end = autoGrant === null ? null : automaticUntil(autoGrant, request, before, now);
  if (end !== null) {
    return grantRequest(transaction, id, {
      bytes,
      until: end,
      words: '',
      by: null,
      isAutomatic: true,
      now,
    });
  }
  transaction.auditAs(auditRequest(owner, 'asked', id, request));
  return [id, request];
}

/** Takes back a request of that owner. Throws `not_found`, and `conflict` where it was answered. */
export function withdraw(transaction: Transaction, ownerName: string, id: string, now: number): void {
  const owner = transaction.mustBeOwner(ownerName);
  const { changes } = transaction;
  const isOwn = changes.get(requestKind, id)?.owner === owner.id;
  if (!isOwn) {
    throw new SoftquotaError('not_found', `${printable(owner.name)} has no request ${printable(id)}`);
  }
  const request: RequestDocument = {
    ...mustBeOpen(changes, id),
    state: 'withdrawn',
    answer: { at: now, by: null, automatic: false, words: '', granted: null },
  };
  changes.put(requestKind, id, request);
  transaction.auditAs(auditRequest(owner, 'withdrawn', id, request));
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

/** The latest that was granted by itself stays, since the next depends on it. */
function forgetOldest(changes: ChangeSet, before: readonly RequestEntry[]): void {
  const automatic = before.find(([, { answer }]) => answer?.automatic === true);
  for (const entry of before.slice(mostAnswered - 1)) {
    if (entry !== automatic) changes.remove(requestKind, entry[0]);
  }
}

/** `2G for 30d, once in 90d`. */
export interface AutoGrant {
  /** The most that is granted. */
  readonly bytes: number;
  /** Longest time of a grant, in milliseconds. */
  readonly forMs: number;
  /** Once in so many milliseconds for each owner. */
  readonly everyMs: number;
}

/**
 * Gives until when a request is granted by itself; null: it is not, and waits for an administrator. `before`
 * are the owner's requests before it.
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
