/** `/units`: the largest repositories and other units of all owners. */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import type { Ledger } from '../../ledger/index.ts';
import { leafMask } from '../../quota/index.ts';
import type { LargeUnit, UnitRecord } from '../../store/index.ts';
import { isoTime } from '../../text.ts';
import * as wire from '../../wire/index.ts';
import { onePage, pageQuery, tellPage } from '../pages.ts';
import { getRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';

const unitsQuery = z.strictObject({
  subject: wire.askedSubject.optional().meta({ description: 'Only units of this kind; without it, of all.' }),
  q: wire.text.default('').meta({ description: 'Only units whose path or name contains this text.' }),
  ...pageQuery,
});

/** A unit of this host, or a large unit of another host, with fewer known fields. */
interface ListedUnit extends LargeUnit, Pick<UnitRecord, 'host' | 'owner' | 'partial'> {
  readonly files: number | null;
  readonly measuredAt: number | null;
}

export function unitRoutes({ ledger }: ApiServices): readonly Route[] {
  return [
    getRoute('listUnits', '/admin/quota/units', {
      summary: 'The largest repositories and other units of all owners, largest first',
      description:
        'Of other hosts that share the quota, the 20 largest of each owner, and 10,000 at most. What sources report ' +
        'in whole sets is not among them; the report about its owner has it.',
      query: unitsQuery,
      answer: onePage(wire.anyUnit),
      handle: async ({ query }, call) => {
        const { q, subject = 'size:all' } = query;
        const mask = leafMask(subject);
        const others = await unitsElsewhere(ledger, mask, q);
        const entries = unitsIn(ledger, mask, q, others);
        const page = await tellPage(call, entries, larger, query);
        return page.map(unit => unitShown(ledger, unit));
      },
    }),
  ];
}

function* unitsIn(
  ledger: Ledger,
  mask: number,
  q: string,
  others: readonly ListedUnit[],
): Generator<ListedUnit | null> {
  yield* ledger.units.unitsBelow(mask, q);
  yield* others;
}

/** Limit of the listed units of other hosts: the largest ones. */
const mostElsewhere = 10_000;
const larger = (a: ListedUnit, b: ListedUnit) => b.bytes - a.bytes;

/** Returns none if the shared store cannot be reached. */
async function unitsElsewhere(ledger: Ledger, mask: number, q: string): Promise<readonly ListedUnit[]> {
  const found: ListedUnit[] = [];
  try {
    for await (const page of ledger.shares.largestOfOthers()) {
      for (const { ownerKey: owner, host, units } of page) {
        for (const unit of units) {
          const isMeant = (leafMask(unit.leaf) & mask) !== 0 && unit.name.includes(q);
          if (isMeant) found.push({ ...unit, owner, host, files: null, partial: false, measuredAt: null });
        }
      }
      if (found.length > 2 * mostElsewhere) found.sort(larger).splice(mostElsewhere);
    }
  } catch (error) {
    if (!(error instanceof SoftquotaError && error.code === 'store_away')) throw error;
  }
  return found.sort(larger).slice(0, mostElsewhere);
}

function unitShown(ledger: Ledger, unit: ListedUnit): wire.AnyUnit {
  const { host, owner, kind, name, leaf: subject, bytes, files, partial, measuredAt } = unit;
  const known = owner === null ? undefined : ledger.documents.owners.named(owner);
  const measured_at = kind === 'reported' || measuredAt === null ? null : isoTime(measuredAt);
  return { host, owner: known?.name ?? owner, kind, name, subject, bytes, files, partial, measured_at };
}
