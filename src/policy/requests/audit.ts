/** The events of requests. */

import type { AuditContext } from '../../documents/index.ts';
import type { RequestDocument } from './kinds.ts';

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
    until: end === null ? null : new Date(end).toISOString(),
    words: action === 'asked' || answer?.automatic === true ? why : (answer?.words ?? ''),
    automatic: answer?.automatic ?? false,
    allowance: granted?.allowance ?? null,
  };
  return { kind: 'request', owner, facts };
}
