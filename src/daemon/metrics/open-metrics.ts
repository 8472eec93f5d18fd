/** The metrics of this daemon: what it counts, and its state when somebody asks. */

import type { Config } from '../../config/index.ts';
import { reasonsAgainst } from '../servers.ts';
import type { MeteredParts, Moment } from './catalog.ts';
import type { Metrics } from './metrics.ts';

/** For sums that are being added up again, and for a disk that does not answer. */
const deadlineMs = 1000;

/** Null: `[metrics] ENABLED` is false, and nothing of it is loaded. */
export async function openMetrics({ metrics }: Config, parts: MeteredParts): Promise<Metrics | null> {
  if (!metrics.enabled) return null;
  const { Metrics } = await import('./metrics.ts');
  return new Metrics(() => momentOf(parts));
}

async function momentOf(parts: MeteredParts): Promise<Moment> {
  const { ledger, totals, measuring, forge } = parts;
  const [figures, disks, origins] = await Promise.all([
    totals.lately(deadlineMs),
    measuring.scanner.disks(deadlineMs),
    ledger.units.origins(),
  ]);
  return {
    ...parts,
    isReady: reasonsAgainst(parts).length === 0,
    figures,
    disks,
    origins,
    observed: measuring.observed(),
    read: forge?.observed() ?? null,
  };
}
