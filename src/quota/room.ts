/** The room on the disk for an owner over a limit, who has deleted data that is still there. */

import type { Decision, DiskFull, Ruled } from './decision.ts';
import type { QuotaSettings } from './policy.ts';

/**
 * Tells whether no more is forgiven, and a push that replaces history has no room on the disk either: beside
 * what the limit and what is forgiven allow, such pushes get as much as the limit once more.
 */
export function isDiskFilled(decision: Decision | DiskFull, bringsBytes: number): boolean {
  if (decision.by !== 'rule' || decision.garbage === undefined) return false;
  const { garbage, used, limit } = decision;
  return garbage.unreachable >= garbage.most && used - limit + bringsBytes > limit;
}

/** Tells whether a refused action passes once so many bytes are deleted that no ref reaches. */
export function passesWithout(
  { used, limit, incoming, garbage }: Ruled,
  freedBytes: number,
  { refuseWhen }: Pick<QuotaSettings, 'refuseWhen'>,
): boolean {
  if (limit <= 0) return false;
  const headroom = limit - used + freedBytes - (garbage === undefined ? 0 : forgivenOf(garbage, freedBytes));
  return refuseWhen === 'reached' ? headroom > incoming : headroom >= incoming;
}

/** Those of the freed bytes that did not count anyway. */
function forgivenOf({ unreachable, most }: NonNullable<Ruled['garbage']>, freedBytes: number): number {
  return Math.min(unreachable, most) - Math.min(Math.max(0, unreachable - freedBytes), most);
}
