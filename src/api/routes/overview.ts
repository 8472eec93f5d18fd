/** `/overview` and `/history`: all owners together, and the usage history of each. */

import { z } from 'zod';
import { dailyDays, hourlyDays, type Range, reachedAt, totalOf } from '../../overview/index.ts';
import { asTree, leaves } from '../../quota/index.ts';
import { isoTime } from '../../text/index.ts';
import * as wire from '../../wire/index.ts';
import { type KnownOwner, knownOwner } from '../owners.ts';
import { getRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { scanShown } from './shapes.ts';

/** For each disk that hangs, and only the first time. */
const diskDeadlineMs = 1000;
/** Milliseconds that a page waits for a changed policy to be held against all owners. */
const countingMs = 1000;

export const range = z.enum(wire.historyRanges).default('week').meta({
  description:
    'The last day, 7, 31 or 366 days, or all. `day` and `week` have hourly points, the others daily points.',
});

export function overviewRoutes(services: ApiServices): readonly Route[] {
  const { ledger, totals, events, scanner } = services;
  return [
    getRoute('getOverview', '/admin/quota/overview', {
      summary: 'Sums over all owners, the disks, and the refusals of the last days',
      answer: { status: 200, description: 'The overview', schema: wire.overview },
      handle: async () => {
        const [disks, refusals, figures] = await Promise.all([
          scanner.disks(diskDeadlineMs),
          events.refusalsByDay(),
          totals.lately(countingMs),
        ]);
        const { owners, over, grace, near, usage } = figures;
        const running = scanner.runs().find(({ state }) => state === 'running');
        const { mode, enabled } = ledger.settings;
        const sweep = ledger.walks.lastSweep;
        const outlook = await services.outlook(disks);
        const kinds = services.unowned();
        const shortDisks = services.shortDisks();
        const { bytes: strayBytes, oldestMs } = services.strays();
        return {
          mode,
          enabled,
          stale: ledger.shares.isStale || ledger.sources.isStale,
          owners: { total: owners, over, grace, near },
          total: totalOf(usage),
          tree: asTree(usage),
          nobody: {
            bytes: Math.min(
              kinds.reduce((sum, { bytes }) => sum + bytes, 0),
              Number.MAX_SAFE_INTEGER,
            ),
            kinds,
          },
          disks: disks.map(({ path, leaves, sizeBytes, freeBytes }) => ({
            path,
            subjects: leaves,
            size: sizeBytes,
            free: freeBytes,
            state: shortDisks.find(short => short.path === path)?.state ?? ('ok' as const),
          })),
          outlook: {
            promised: outlook.promisedBytes,
            unlimited: outlook.unlimitedOwners,
            size: outlook.sizeBytes,
            free: outlook.freeBytes,
            full_at: isoTime(outlook.fullAt),
          },
          quarantines: {
            bytes: strayBytes,
            oldest_seconds: oldestMs === null ? null : Math.round(oldestMs / 1000),
          },
          refusals,
          measuring: running === undefined ? null : scanShown(running),
          measured_at: isoTime(sweep?.finishedAt ?? null),
        };
      },
    }),
    getRoute('getHistory', '/admin/quota/history', {
      summary: 'The usage history of one owner or of all owners together',
      query: z.strictObject({
        owner: wire.knownName.min(1).optional().meta({ description: 'Without it: all owners together.' }),
        range,
      }),
      faults: [404],
      answer: { status: 200, description: 'Points for a chart, at most about 400', schema: wire.history },
      handle: ({ query: { owner, range: asked } }) =>
        owner === undefined ? pastOfAll(services, asked) : pastOf(services, knownOwner(ledger, owner), asked),
    }),
  ];
}

/** The usage that growth is measured against. */
interface Against {
  readonly used: number | null;
  readonly limit: number | null;
}

type Services = Pick<ApiServices, 'history' | 'ledger' | 'now' | 'totals'>;

/** The history of one owner, with the growth against the limit for everything. */
export function pastOf(services: Services, owner: KnownOwner, range: Range): Promise<wire.History> {
  return pastShown(
    services,
    { ownerId: owner.id, range },
    services.ledger.stateDeciderFor(owner, false)('size:all'),
  );
}

async function pastOfAll(services: Services, range: Range): Promise<wire.History> {
  const { usage } = await services.totals.lately(countingMs);
  return pastShown(services, { ownerId: null, range }, { used: totalOf(usage), limit: null });
}

async function pastShown(
  { history, now }: Services,
  { ownerId, range }: { readonly ownerId: number | null; readonly range: Range },
  against: Against,
): Promise<wire.History> {
  const { points, growth } = await history.of(ownerId, range);
  return {
    leaves: [...leaves],
    points: points.map(({ at, usage }) => ({ at: isoTime(at), bytes: usage })),
    kept: { hourly_days: hourlyDays, daily_days: dailyDays },
    growth: growth === null ? null : growthShown(growth, against, now()),
  };
}

function growthShown(
  { perDay, since }: { readonly perDay: number; readonly since: number },
  { used, limit }: Against,
  now: number,
): wire.Growth {
  const at = used === null || limit === null ? null : reachedAt(perDay, used, limit, now);
  return { per_day: perDay, since: isoTime(since), used, limit, reached_at: isoTime(at) };
}
