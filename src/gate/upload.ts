/**
 * Uploads that nobody reports: with PRECISE their room is kept until the owner's usage has grown by them, or
 * their time ends.
 */

import type { Action } from '../ledger/index.ts';
import { type Decided, decidedFirstByDisk } from './decided.ts';
import type { GateServices } from './services.ts';

/** Seconds that the bytes of an upload count if they never arrive. */
const uploadSeconds = 600;
/** Units of an owner that are measured soon after an upload; most owners have one of a kind. */
const mostMeasured = 4;
/** Units that are searched for those; the next sweep measures the others. */
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
      ? ledger.admit({ ...upload, seconds: uploadSeconds })
      : ledger.decide(ownerName, subject);
    const paths = decided.decision.allowed
      ? ledger.units.walkedOf(ownerName, subject, mostMeasured, mostLookedAt)
      : [];
    for (const path of paths) letThrough(path);
    return decided;
  });
}
