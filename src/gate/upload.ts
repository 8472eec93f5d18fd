/**
 * Uploads that nobody reports: where sizes count, their room is kept until the owner's usage has grown by
 * them, or their time ends.
 */

import type { Action, OwnerDecision } from '../ledger/index.ts';
import { type Decided, decidedFirstByDisk } from './decided.ts';
import type { GateServices } from './services.ts';

/** So many units of an owner are measured soon after an upload; an owner has one of a kind, mostly. */
const mostMeasured = 4;
/** Whoever has many units waits no longer; what is not found here, the next sweep measures. */
const mostLookedAt = 200;

/** Decides, and keeps what is allowed in mind. */
export function startUpload(services: GateServices, action: Action): Decided | Promise<OwnerDecision> {
  const { ownerName, subject, unit: path } = action;
  return decidedFirstByDisk(services, { ownerName, subject, path }, () => startByLimits(services, action));
}

function startByLimits(
  { ledger, letThrough }: GateServices,
  action: Action,
): OwnerDecision | Promise<OwnerDecision> {
  const { admissions, settings } = ledger;
  const { ownerName, subject, parts } = action;
  const bytes = Math.min(
    parts.reduce((sum, part) => sum + part.bytes, 0),
    Number.MAX_SAFE_INTEGER,
  );
  const measureSoon = (): void => {
    for (const path of ledger.units.walkedOf(ownerName, subject, mostMeasured, mostLookedAt))
      letThrough(path);
  };
  if (!admissions.isTracking) {
    const decided = ledger.decide(ownerName, subject, bytes);
    if (decided.decision.allowed) measureSoon();
    return decided;
  }
  measureSoon();
  const known = parts.filter(part => part.bytes > 0);
  if (known.length === 0 && settings.precise) return ledger.decide(ownerName, subject);
  return admissions.admit({
    ...action,
    parts: parts.map(part => (part.bytes > 0 ? part : { ...part, bytes: admissions.unknownBytes })),
  });
}
