/** `/overview` and `/history`: sums over all owners, and the usage history of owners and groups. */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import {
  dailyDays,
  hourlyDays,
  outlookOf,
  poolStates,
  type Range,
  reachedAt,
  worstOf,
} from '../../overview/index.ts';
import { mustBeGroup, openRequests } from '../../policy/index.ts';
import { asTree, leafMask, leaves, totalOf } from '../../quota/index.ts';
import { isoTime, printable } from '../../text.ts';
import * as wire from '../../wire/index.ts';
import { type KnownOwner, knownOwner } from '../owners.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { scanShown } from './shapes.ts';

/** Milliseconds to wait for a disk that does not answer; a disk that hangs is not waited for again. */
const diskDeadlineMs = 1000;
/** Limit of the members whose history is added up: each one is read from the store. */
const mostMembers = 2000;

export const range = z.enum(wire.historyRanges).default('week').meta({
  description:
    'The last day, 7, 31 or 366 days, or all. `day` and `week` have hourly points, the others daily points.',
});

export function overviewRoutes(services: ApiServices): readonly Route[] {
  const { documents, ledger, totals, events, scanner } = services;
  return [
    route('get', 'getOverview', '/admin/quota/overview', {
      summary: 'Sums over all owners, the disks, and the refusals of the last days',
      answer: { status: 200, description: 'The overview', schema: wire.overview },
      handle: async () => {
        const [disks, refusals, figures] = await Promise.all([
          scanner.disks(diskDeadlineMs),
          events.refusalsByDay(),
          totals.lately(),
        ]);
        const { owners, over, grace, near, usage } = figures;
        const running = scanner.runs().find(({ state }) => state === 'running');
        const { mode, enabled, defaultGroups, totalBytes } = ledger.settings;
        const sweep = ledger.walks.lastSweep;
        const kinds = services.unowned();
        const shortDisks = services.shortDisks();
        const { bytes: strayBytes, oldestMs } = services.strays();
        return {
          mode,
          enabled,
          stale: ledger.shares.isStale || ledger.sources.isStale,
          owners: { total: owners, over, grace, near },
          everybody: { groups: defaultGroups, total: totalBytes },
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
          outlook: await outlookOf(services, disks),
          quarantines: {
            bytes: strayBytes,
            oldest_seconds: oldestMs === null ? null : Math.round(oldestMs / 1000),
          },
          refusals,
          open_requests: openRequests(documents.snapshot),
          worker: services.worker(),
          measuring: running === undefined ? null : scanShown(running),
          measured_at: isoTime(sweep?.finishedAt ?? null),
        };
      },
    }),
    route('get', 'getHistory', '/admin/quota/history', {
      summary: 'The usage history of one owner, of the members of a group, or of all owners together',
      description: `Of a group: what those who are members now had together, of the data that the limit counts which they have together and which is nearest; without such a limit of everything. At most ${mostMembers} members are added up.`,
      query: z
        .strictObject({
          owner: wire.knownName.min(1).optional().meta({ description: 'Only this owner.' }),
          group: wire.knownName.min(1).optional().meta({ description: 'Only the members of this group.' }),
          range,
        })
        .refine(({ owner, group }) => owner === undefined || group === undefined, {
          path: ['group'],
          message: 'expected none with owner',
        }),
      faults: [404],
      answer: { status: 200, description: 'Points for a chart, at most about 400', schema: wire.history },
      handle: async ({ query: { owner, group, range: asked } }) => {
        if (group !== undefined) return pastOfGroup(services, group, asked);
        if (owner !== undefined) return pastOf(services, knownOwner(ledger, owner), asked);
        const { usage } = await totals.lately();
        return pastShown(services, { ownerIds: null, range: asked }, { used: totalOf(usage), limit: null });
      },
    }),
  ];
}

/** Returns the history of one owner, with the growth compared with the limit for all data. */
export function pastOf(services: ApiServices, owner: KnownOwner, range: Range): Promise<wire.History> {
  return pastShown(
    services,
    { ownerIds: [owner.id], range },
    services.ledger.stateDeciderFor(owner, false)('size:all'),
  );
}

/** Throws `not_found`, and `invalid` if the group has too many members. */
async function pastOfGroup(services: ApiServices, name: string, range: Range): Promise<wire.History> {
  const { documents, ledger } = services;
  mustBeGroup(documents.snapshot, name);
  const ownerIds = ledger.policy.membersOf(name);
  if (ownerIds.length > mostMembers) {
    const count = `${printable(name)} has ${ownerIds.length} members`;
    throw new SoftquotaError('invalid', `group: ${count}, and the history of ${mostMembers} can be added up`);
  }
  const group = ledger.policy.pool(name);
  const [first, ...others] = group === null ? [] : poolStates(ledger, group, null);
  if (first === undefined) return pastShown(services, { ownerIds, range }, { used: null, limit: null });
  const { decision } = worstOf(first, others);
  const counted = decision.subjects.reduce((mask, subject) => mask | leafMask(subject), 0);
  return pastShown(services, { ownerIds, range, counted }, decision);
}

interface AskedPast {
  readonly ownerIds: readonly number[] | null;
  readonly range: Range;
  /** Mask of the leaves that are added up; absent: all. */
  readonly counted?: number;
}

/** `used` and `limit` are those for the forecast; null: there is none. */
async function pastShown(
  { history }: ApiServices,
  { ownerIds, range, counted }: AskedPast,
  { used, limit }: { readonly used: number | null; readonly limit: number | null },
): Promise<wire.History> {
  const { points, growth } = await history.of(ownerIds, range, counted);
  const hasLimit = used !== null && limit !== null;
  return {
    leaves: [...leaves],
    points: points.map(({ at, usage }) => ({ at: isoTime(at), bytes: usage })),
    kept: { hourly_days: hourlyDays, daily_days: dailyDays },
    growth: growth && {
      per_day: growth.perDay,
      since: isoTime(growth.since),
      used,
      limit,
      reached_at: isoTime(hasLimit ? reachedAt(growth.perDay, used, limit, Date.now()) : null),
    },
  };
}
