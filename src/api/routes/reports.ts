/** Reports about one owner, to administrators and to the owner. */

import type { Ledger, OwnerUsage } from '../../ledger/index.ts';
import { allowancesOf } from '../../policy/index.ts';
import { asTree, subjects } from '../../quota/index.ts';
import type { OwnerReport, OwnerRow, UnitRow } from '../../wire/index.ts';
import type { ApiServices } from '../services.ts';
import { allowanceShown } from './asked.ts';
import { verdictShown } from './shapes.ts';

export function rowOf(ledger: Ledger, owner: OwnerUsage): OwnerRow {
  const decision = ledger.deciderFor(owner)('size:all');
  return {
    name: owner.name,
    type: owner.type,
    tree: asTree(owner.usage),
    total: reportTotal(owner),
    ...verdictShown(decision),
    percent: percentOf(decision),
    measured_at: owner.measuredAt === null ? null : new Date(owner.measuredAt).toISOString(),
    partial: owner.partial,
    stale: owner.stale,
  };
}

type ReportServices = Pick<ApiServices, 'documents' | 'ledger' | 'scanner' | 'host' | 'now'>;

/** Tells the `most` largest units of each source. */
export async function reportOf(
  { documents, ledger, scanner, host, now }: ReportServices,
  name: string,
  most: number,
): Promise<OwnerReport> {
  const owner = ledger.ownerUsage(name);
  const decisions = subjects.map(subject => {
    return [subject, verdictShown(ledger.deciderFor(owner)(subject))];
  });
  const rulers = scanner.rulers();
  const units = (await ledger.shares.unitsOf(owner.name, { most })).map((unit): UnitRow => {
    const ruler = unit.kind === 'walked' && unit.host === host ? (rulers.get(unit.leaf) ?? null) : null;
    return {
      host: unit.host,
      name: unit.name,
      kind: unit.kind,
      source: unit.source,
      subject: unit.leaf,
      bytes: unit.bytes,
      files: ruler === null ? unit.files : null,
      ruler,
      partial: unit.partial,
      measured_at: unit.measuredAt === null ? null : new Date(unit.measuredAt).toISOString(),
    };
  });
  return {
    ...rowOf(ledger, owner),
    known: owner.id !== null,
    units,
    decisions: Object.fromEntries(decisions),
    allowances:
      owner.id === null ? [] : allowancesOf(documents.snapshot, owner.id, now()).map(allowanceShown),
  };
}

export function reportTotal({ usage }: OwnerUsage): number {
  return usage.reduce((sum, bytes) => sum + bytes, 0);
}

export type Filling = Pick<OwnerRow, 'used' | 'limit'>;

export function percentOf({ used, limit }: Filling): number | null {
  return limit === null || limit <= 0 || used === null ? null : Math.floor((used / limit) * 100);
}
