/** Connects notices with the daemon: the data that they read, and the present faults. */

import { hungDisks } from '../health/index.ts';
import { Notices, type PresentFault, type PresentFaults, type Summary } from '../notices/index.ts';
import { judgedKind, outlookOf } from '../overview/index.ts';
import { everyRequest } from '../policy/index.ts';
import { fullDiskWords } from '../quota/index.ts';
import { filterMapInSlices } from '../slices.ts';
import { firstOf } from '../sorting.ts';
import type { DaemonParts } from './api.ts';

/** Time limit for disks that do not answer. */
const deadlineMs = 1000;
const mostWorst = 10;

export function openNotices(parts: DaemonParts): Notices {
  const { current, host, ledger, events, measuring, secretKeys: keys, log } = parts;
  // The configuration requires ROOT_URL for mails; webhooks have no links.
  const baseUrl = () => current.config.server.rootUrl ?? 'http://localhost/';
  return new Notices({
    settings: current.config,
    documents: ledger.documents,
    events,
    ledger,
    host,
    unitNames: () => measuring.unitNames(),
    keys,
    baseUrl,
    now: Date.now,
    present: () => presentFaults(parts),
    summary: since => summaryOf(parts, since),
    log,
  });
}

function presentFaults({ ledger, fleet, forge, measuring }: DaemonParts): PresentFaults {
  const { hangs, rootsAway } = measuring.observed();
  const away = fleet?.state.away ?? null;
  const read = forge?.observed() ?? null;
  const faults: PresentFault[] = [
    ...(ledger.storeAway === null ? [] : [fault('store', '', ledger.storeAway.reason)]),
    ...(away === null ? [] : [fault('shared_store', '', away.reason)]),
    ...measuring.freeSpace.short.map(({ path, disk }) => fault('disk_low', path, fullDiskWords(disk))),
    ...measuring.freeSpace.short
      .filter(({ state }) => state === 'full')
      .map(({ path, disk }) => fault('disk_full', path, `${fullDiskWords(disk)}; adding data is refused`)),
    ...hungDisks(hangs).map(({ mountedAt }) => fault('disk_hangs', mountedAt, 'its server may be away')),
    ...rootsAway.map(({ path, why }) => fault('storage_missing', path, why)),
    ...(read?.fault ? [fault('forge', '', read.fault.message)] : []),
  ];
  // Before the first reading, the state of the forge is unknown.
  const isUnknown = read !== null && read.fault === null && read.readAt === null;
  return { faults, unknown: isUnknown ? ['forge'] : [] };
}

function fault(what: PresentFault['what'], where: string, reason: string): PresentFault {
  return { what, where, reason };
}

async function summaryOf(parts: DaemonParts, since: number): Promise<Summary> {
  const { totals, history, events, ledger, measuring } = parts;
  const [figures, disks, past, refusals] = await Promise.all([
    totals.lately(),
    measuring.scanner.disks(deadlineMs),
    history.of(null, 'month'),
    events.refusalsSince(since),
  ]);
  const outlook = await outlookOf(parts, disks);
  const open = [...everyRequest(ledger.documents.snapshot)].filter(([, { state }]) => state === 'open');
  return {
    since,
    figures,
    growthPerDay: past.growth?.perDay ?? null,
    freeBytes: disks.some(({ freeBytes }) => freeBytes !== null) ? outlook.free : null,
    fullAt: outlook.full_at,
    refusals,
    openRequests: open.length,
    worst: [...(await worstOf(parts)), ...worstPools(parts)],
  };
}

async function worstOf({ ledger, totals }: DaemonParts): Promise<Summary['worst']> {
  const { owners } = ledger.documents;
  const near = filterMapInSlices(owners.all, ({ key, name }) => {
    const nearness = totals.nearnessOf(key);
    return nearness.state === 'ok' ? undefined : { name, ...nearness };
  });
  const fullest = await firstOf(
    near,
    mostWorst,
    (a, b) => b.fullness - a.fullness || (a.name < b.name ? -1 : 1),
  );
  return fullest.first;
}

/** Limits of all members of a group together that are near or exceeded, the fullest first. */
function worstPools({ ledger: { policy, pools, settings } }: DaemonParts): Summary['worst'] {
  return [...policy.pooled]
    .flatMap(group => pools.decisions(group, 'stored') ?? [])
    .map(decision => {
      const { state, fullness } = judgedKind(settings, decision, 0);
      return { name: `group ${decision.group}, rule ${decision.rule}`, state, fullness };
    })
    .filter(({ state }) => state !== 'ok')
    .sort((a, b) => b.fullness - a.fullness || (a.name < b.name ? -1 : 1))
    .slice(0, mostWorst);
}
