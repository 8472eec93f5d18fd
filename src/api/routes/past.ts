/** The usage history on the wire. */

import { dailyDays, hourlyDays, type Range, reachedAt, totalOf } from '../../overview/index.ts';
import { leaves } from '../../quota/index.ts';
import type { Growth, History } from '../../wire/index.ts';
import { isoTime } from '../moments.ts';
import type { KnownOwner } from '../owners.ts';
import type { ApiServices } from '../services.ts';

/** The usage that growth is measured against. */
interface Against {
  readonly used: number | null;
  readonly limit: number | null;
}

type Services = Pick<ApiServices, 'history' | 'ledger' | 'now' | 'totals'>;

/** Milliseconds that a page waits for a changed policy to be held against all owners. */
const countingMs = 1000;

/** The history of one owner, with the growth against the limit for everything. */
export function pastOf(services: Services, owner: KnownOwner, range: Range): Promise<History> {
  return pastShown(services, { ownerId: owner.id, range }, services.ledger.deciderFor(owner)('size:all'));
}

export async function pastOfAll(services: Services, range: Range): Promise<History> {
  const { usage } = await services.totals.lately(countingMs);
  return pastShown(services, { ownerId: null, range }, { used: totalOf(usage), limit: null });
}

async function pastShown(
  { history, now }: Services,
  { ownerId, range }: { readonly ownerId: number | null; readonly range: Range },
  against: Against,
): Promise<History> {
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
): Growth {
  const at = used === null || limit === null ? null : reachedAt(perDay, used, limit, now);
  return { per_day: perDay, since: isoTime(since), used, limit, reached_at: isoTime(at) };
}
