/** The usage history on the wire. */

import { dailyDays, hourlyDays, type History as Past, type Range, reachedAt } from '../../overview/index.ts';
import { leaves } from '../../quota/index.ts';
import type { Growth, History } from '../../wire/index.ts';

/** The usage that growth is measured against. */
export interface Against {
  readonly used: number | null;
  readonly limit: number | null;
}

/** `ownerId`: null for all owners. */
export async function pastShown(
  history: Pick<Past, 'of'>,
  { ownerId, range, against, now }: { ownerId: number | null; range: Range; against: Against; now: number },
): Promise<History> {
  const { points, growth } = await history.of(ownerId, range);
  return {
    leaves: [...leaves],
    points: points.map(({ at, usage }) => ({ at: isoOf(at), bytes: usage })),
    kept: { hourly_days: hourlyDays, daily_days: dailyDays },
    growth: growth === null ? null : growthShown(growth, against, now),
  };
}

function growthShown(
  { perDay, since }: { readonly perDay: number; readonly since: number },
  { used, limit }: Against,
  now: number,
): Growth {
  const at = used === null || limit === null ? null : reachedAt(perDay, used, limit, now);
  return { per_day: perDay, since: isoOf(since), used, limit, reached_at: at === null ? null : isoOf(at) };
}

function isoOf(time: number): string {
  return new Date(time).toISOString();
}
