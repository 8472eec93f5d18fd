/**
 * The answers to requests: granted, which makes an allowance in the same transaction, or declined with words;
 * and the event of each step.
 */

import type { AuditContext, Transaction } from '../../documents/index.ts';
import { SoftquotaError } from '../../errors.ts';
import { isoTime } from '../../text/index.ts';
import { createAllowance } from '../allowances.ts';
import { mustBeOpen, type RequestDocument, type RequestEntry, requestKind } from './kinds.ts';

/** Parts that are left out are as they were asked for. */
interface Grant {
  readonly bytes?: number | undefined;
  /** Milliseconds since 1970. */
  readonly until?: number | undefined;
  readonly words: string;
  /** The name of who grants it; null: the administrator of a host, or the configuration. */
  readonly by: string | null;
  readonly isAutomatic: boolean;
  readonly now: number;
}

/**
 * Grants a request. Throws `not_found`, `conflict` where it was answered or the owner has as many allowances
 * as can be, and `invalid` where there cannot be such an allowance.
 */
export function grantRequest(transaction: Transaction, id: string, granted: Grant): RequestEntry {
  const { changes } = transaction;
  const { words, by, isAutomatic: automatic, now } = granted;
  const asked = mustBeOpen(changes, id);
  const until = granted.until ?? asked.until;
  if (until === null) {
    throw new SoftquotaError('invalid', 'until: the request does not say until when, so the grant has to');
  }
  const allowance = createAllowance(changes, asked.owner, {
    bytes: granted.bytes ?? asked.bytes,
    until,
    why: asked.why,
    grantedBy: by,
    grantedAt: now,
    request: id,
    automatic,
  });
  const made = { allowance: allowance.id, bytes: allowance.bytes, until: allowance.until };
  return answered(transaction, id, {
    ...asked,
    state: 'granted',
    answer: { at: now, by, automatic, words, granted: made },
  });
}

/**
 * Declines a request, with a message to the owner. Throws `not_found`, and `conflict` where it was answered.
 */
export function declineRequest(
  transaction: Transaction,
  id: string,
  { words, by, now }: Pick<Grant, 'words' | 'by' | 'now'>,
): RequestEntry {
  const asked = mustBeOpen(transaction.changes, id);
  return answered(transaction, id, {
    ...asked,
    state: 'declined',
    answer: { at: now, by, automatic: false, words, granted: null },
  });
}

function answered(transaction: Transaction, id: string, request: RequestDocument): RequestEntry {
  transaction.changes.put(requestKind, id, request);
  const owner = transaction.ownerById(request.owner);
  if (owner === undefined) {
    throw new SoftquotaError('not_found', 'the owner that the request is for is no more');
  }
  const action = request.state === 'granted' ? 'granted' : 'declined';
  transaction.auditAs(auditRequest(owner, action, id, request));
  return [id, request];
}

/**
 * Says what the event of a step tells. Of a granted request it has what was granted, not what was asked for.
 */
export function auditRequest(
  owner: AuditContext['owner'],
  action: 'asked' | 'granted' | 'declined' | 'withdrawn',
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
