/** Decisions of the gate: by the disk first, then by the owner's limits; and their record. */

import type { OwnerDecision, OwnerUsage } from '../ledger/index.ts';
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
