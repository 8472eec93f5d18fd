/**
 * Uploads that nobody reports: with PRECISE their room is kept until the owner's usage has grown by them, or
 * their time ends.
 */

import type { Action } from '../ledger/index.ts';
import { type Decided, decidedFirstByDisk } from './decided.ts';
import type { GateServices } from './services.ts';

/** How long the bytes of an upload count that never come. */
const uploadSeconds = 600;
/** So many units of an owner are measured soon after an upload; an owner has one of a kind, mostly. */
const mostMeasured = 4;
/** Whoever has many units waits no longer; what is not found here, the next sweep measures. */
const mostLookedAt = 200;

/** Decides, and with PRECISE reserves what is allowed. A part of 0 bytes is one of unknown size. */
export function startUpload(
  services: GateServices,
  { ownerName, subject, parts }: Pick<Action, 'ownerName' | 'subject' | 'parts'>,
): Decided {
  return decidedFirstByDisk(services, { ownerName, subject, path: null }, () => {
    const { ledger, letThrough } = services;
    // The owner is part of each id: several may upload the same object.
    const ownParts = parts.map(({ id, bytes }) => ({ id: `upload ${ownerName} ${id}`, bytes }));
    const upload = { ownerName, subject, parts: ownParts, isReported: false, unit: null };
    const decided = ledger.settings.precise
      ? ledger.admissions.admit({ ...upload, seconds: uploadSeconds })
      : ledger.decide(ownerName, subject);
    const paths = decided.decision.allowed
      ? ledger.units.walkedOf(ownerName, subject, mostMeasured, mostLookedAt)
      : [];
    for (const path of paths) letThrough(path);
    return decided;
  });
}
