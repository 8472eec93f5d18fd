/** `/overview` and `/history`: all owners together, and the usage history. */

import { z } from 'zod';
import { totalOf } from '../../overview/index.ts';
import { asTree } from '../../quota/index.ts';
import { history, historyRanges, knownName, overview, type UnownedKind } from '../../wire/index.ts';
import { administrators } from '../access.ts';
import { isoTime } from '../moments.ts';
import { knownOwner } from '../owners.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { pastOf, pastOfAll } from './past.ts';
import { scanShown } from './shapes.ts';

/** For each disk that hangs, and only the first time. */
const diskDeadlineMs = 1000;
/** Milliseconds that a page waits for a changed policy to be held against all owners. */
const countingMs = 1000;

export const range = z.enum(historyRanges).default('week').meta({
  description:
    'The last day, 7, 31 or 366 days, or all. `day` and `week` have hourly points, the others daily points.',
});

export function overviewRoutes(services: ApiServices): readonly Route[] {
  const { ledger, totals, events, scanner } = services;
  return [
    route({
      id: 'getOverview',
      method: 'get',
      path: '/admin/quota/overview',
      tag: 'owners',
      summary: 'Sums over all owners, the disks, and the refusals of the last days',
      access: administrators.read,
      answer: { status: 200, description: 'The overview', schema: overview },
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
          nobody: { bytes: Math.min(sumOf(kinds), Number.MAX_SAFE_INTEGER), kinds },
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
    route({
      id: 'getHistory',
      method: 'get',
      path: '/admin/quota/history',
      tag: 'owners',
      summary: 'The usage history of one owner or of all owners together',
      access: administrators.read,
      query: z.strictObject({
        owner: knownName.min(1).optional().meta({ description: 'Without it: all owners together.' }),
        range,
      }),
      faults: [404],
      answer: { status: 200, description: 'Points for a chart, at most about 400', schema: history },
      handle: ({ query: { owner, range: asked } }) =>
        owner === undefined ? pastOfAll(services, asked) : pastOf(services, knownOwner(ledger, owner), asked),
    }),
  ];
}

function sumOf(kinds: readonly UnownedKind[]): number {
  return kinds.reduce((sum, { bytes }) => sum + bytes, 0);
}
