/** Requests and allowances, as they stand on the wire, and who may not give to whom. */

import type { Owners } from '../../documents/index.ts';
import { SoftquotaError } from '../../errors.ts';
import type { Caller } from '../../identity/index.ts';
import type { AllowanceDocument, AutoGrant, RequestEntry } from '../../policy/index.ts';
import type { Allowance, OwnReport, SpaceRequest } from '../../wire/index.ts';
import { isoTime } from '../moments.ts';
import { roleOver } from '../owners.ts';
import type { ApiServices } from '../services.ts';

export function requestShown(owners: Owners, [id, request]: RequestEntry): SpaceRequest {
  const { askedBy, askedAt, bytes, until, why, state, answer } = request;
  const nameOf = (ownerId: number) => owners.byId(ownerId)?.name;
  return {
    id,
    owner: nameOf(request.owner) ?? `#${request.owner}`,
    asked_by: nameOf(askedBy.id) ?? askedBy.name,
    asked_at: isoTime(askedAt),
    bytes,
    until: isoTime(until),
    why,
    state,
    answer:
      answer === null
        ? null
        : {
            at: isoTime(answer.at),
            by: answer.by,
            automatic: answer.automatic,
            words: answer.words,
            granted: answer.granted && { ...answer.granted, until: isoTime(answer.granted.until) },
          },
  };
}

export function allowanceShown(allowance: AllowanceDocument): Allowance {
  const { id, bytes, until, why, grantedBy, grantedAt, request, automatic } = allowance;
  return {
    id,
    bytes,
    until: isoTime(until),
    why,
    granted_by: grantedBy,
    granted_at: isoTime(grantedAt),
    request,
    automatic,
  };
}

export function autoGrantShown({ bytes, forMs, everyMs }: AutoGrant): NonNullable<OwnReport['auto_grant']> {
  return { bytes, seconds: forMs / 1000, every_seconds: everyMs / 1000 };
}

/**
 * Throws `not_permitted` where a caller would give more to themselves: to their own user, to an organization
 * that they own, or on a request that they made. The administrator of the host is no user, and so gives to
 * anybody.
 */
export function mustNotGiveThemselves(
  { identity }: Pick<ApiServices, 'identity'>,
  caller: Caller,
  { ownerId, askedById = null }: { readonly ownerId: number; readonly askedById?: number | null },
): void {
  const asked = askedById !== null && askedById === caller.ownerId;
  if (!asked && roleOver(identity, ownerId, caller) !== 'owner') return;
  throw new SoftquotaError(
    'not_permitted',
    'nobody gives more space to themselves or to an organization that they own: another administrator can, or the ' +
      'administrator of the host with softquota allowance create',
  );
}
