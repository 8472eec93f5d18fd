/** The metrics of this daemon: what it counts, and its state when somebody asks. */

import type { Config } from '../../config/index.ts';
import type { Fleet } from '../../fleet/index.ts';
import { hungDisks } from '../../health/index.ts';
import type { Ledger } from '../../ledger/index.ts';
import type { ForgeSync, Measuring } from '../../measuring/index.ts';
import type { Notices } from '../../notices/index.ts';
import type { Totals } from '../../overview/index.ts';
import { version } from '../../version.ts';
import type { DaemonWorker } from '../worker-state.ts';
import type { Metrics, MetricsState } from './metrics.ts';

interface MetricsParts {
  readonly ledger: Ledger;
  readonly totals: Totals;
  readonly measuring: Measuring;
  readonly fleet: Fleet | null;
  readonly forge: ForgeSync | null;
  readonly worker: DaemonWorker;
  readonly notices: Notices;
  /** Tells whether decisions are reliable at the moment. */
  isReady(): boolean;
}

/** For sums that are being added up again, and for a disk that does not answer. */
const deadlineMs = 1000;

/** Null: `[metrics] ENABLED` is false, and nothing of it is loaded. */
export async function openMetrics({ metrics }: Config, parts: MetricsParts): Promise<Metrics | null> {
  if (!metrics.enabled) return null;
  const { Metrics } = await import('./metrics.ts');
  return new Metrics({ version, state: () => stateOf(parts) });
}

async function stateOf(parts: MetricsParts): Promise<MetricsState> {
  const { ledger, totals, measuring, fleet, forge, worker, notices } = parts;
  const { scanner } = measuring;
  const { walks, sources, units } = ledger;
  const [figures, disks, origins] = await Promise.all([
    totals.lately(deadlineMs),
    scanner.disks(deadlineMs),
    units.origins(),
  ]);
  const observed = measuring.observed();
  const read = forge?.observed() ?? null;
  return {
    isReady: parts.isReady(),
    settings: ledger.settings,
    owners: {
      total: figures.owners,
      over: figures.over,
      grace: figures.grace,
      near: figures.near,
    },
    usage: figures.usage,
    origins,
    promised: figures.promised,
    unlimited: figures.unlimited,
    sources: sources.list,
    unowned: read?.unowned ?? [],
    units: units.unitCount,
    sweep: walks.lastSweep,
    hasSweepFailed: observed.sweepError !== null,
    unreadPlaces: observed.unread.count,
    drift: scanner.runs().find(({ drift }) => drift !== null)?.drift ?? null,
    strays: measuring.pushes.strays,
    hangingDisks: hungDisks(observed.hangs).length,
    waitingWalks: scanner.status().waiting,
    waitingWrites: ledger.waitingWrites,
    stores: {
      isLocalUp: ledger.storeAway === null,
      isSharedUp: fleet === null ? null : fleet.state.away === null,
    },
    forge: read && { isUp: read.fault === null, readAt: read.readAt },
    worker: worker.isKnown
      ? { isUp: worker.isHere, unreachableBytes: worker.space.observed().unreachableBytes }
      : null,
    notices: notices.places(),
    disks,
  };
}
