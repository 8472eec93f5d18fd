/**
 * Decisions of the gate: by the disk first, then by the owner's limits; their record, and that of uploads.
 */

import type { Action, OwnerDecision, OwnerUsage } from '../ledger/index.ts';
import { type Decision, type DiskFull, refusedByDisk, type Subject } from '../quota/index.ts';
import type { GateServices, RefusalRecord } from './services.ts';

/** A decision about what an owner may start. */
export interface Decided {
  readonly owner: OwnerUsage;
  readonly decision: Decision | DiskFull;
}

/** An owner, and the unit that something comes into; null: it is not known. */
interface Place {
  readonly ownerName: string;
  readonly subject: Subject;
  readonly path: string | null;
}

/**
 * Decides by the disk that the unit lies on, or, without one, by all disks with such data; and by `byLimits`
 * where the disk has enough free space. Where quotas are off, nothing is refused.
 */
export function decidedFirstByDisk<Found extends OwnerDecision>(
  { ledger, fullDisk }: Pick<GateServices, 'fullDisk' | 'ledger'>,
  { ownerName, subject, path }: Place,
  byLimits: () => Found,
): Found | Decided {
  const disk = ledger.settings.enabled ? fullDisk(path, subject) : null;
  return disk === null ? byLimits() : { owner: ledger.ownerUsage(ownerName), decision: refusedByDisk(disk) };
}

/**
 * Counts a decision, and puts a refusal on record, also one by rules in report mode, which is let
 * through. `unitPath`: the repository of a push.
 */
export function recordDecision(
  { ledger, metrics, refused }: Pick<GateServices, 'ledger' | 'metrics' | 'refused'>,
  told: Omit<RefusalRecord, 'mode'>,
  unitPath?: string,
): void {
  const { mode } = ledger.settings;
  const { allowed, reported } = told.decision;
  if (reported !== undefined && !reported.allowed) {
    metrics?.decided('would_refuse', told.subject, { ...ledger.settings, mode: 'report' });
    refused({ ...told, decision: reported, mode: 'report' }, unitPath);
    return;
  }
  const result = mode === 'report' ? 'would_refuse' : 'refused';
  metrics?.decided(allowed ? 'allowed' : result, told.subject, ledger.settings);
  if (!allowed) refused({ ...told, mode }, unitPath);
}

/** Seconds that the bytes of an upload count if they never arrive. */
const uploadSeconds = 600;
/** Units of an owner that are measured soon after an upload; most owners have one of a kind. */
const mostMeasured = 4;
/** Units that are searched for those; the next sweep measures the others. */
const mostLookedAt = 200;

/**
 * Decides about an upload that nobody reports. With PRECISE its room is kept until the owner's usage has
 * grown by it, or its time ends. A part of 0 bytes is one of unknown size.
 */
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
