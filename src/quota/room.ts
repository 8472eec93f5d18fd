/** The room for pushes of an owner over a limit who deletes data that is still on the disk. */

import type { Decision, DiskFull, Ruled } from './decision.ts';
import type { QuotaSettings } from './policy.ts';

/**
 * Tells whether a push that replaces history must be refused: nothing more is forgiven, and the push would
 * bring usage over twice the limit. Up to there, such pushes have room beside the forgiven bytes.
 */
export function isDiskFilled(decision: Decision | DiskFull, bringsBytes: number): boolean {
  if (decision.by !== 'rule' || decision.garbage === undefined) return false;
  const { garbage, used, limit } = decision;
  return garbage.unreachable >= garbage.most && used - limit + bringsBytes > limit;
}

/** Tells whether a refused action is allowed after `freedBytes` of unreachable data are deleted. */
export function passesWithout(
  { used, limit, incoming, garbage }: Ruled,
  freedBytes: number,
  { refuseWhen }: Pick<QuotaSettings, 'refuseWhen'>,
): boolean {
  if (limit <= 0) return false;
  const headroom = limit - used + freedBytes - (garbage === undefined ? 0 : forgivenOf(garbage, freedBytes));
  return refuseWhen === 'reached' ? headroom > incoming : headroom >= incoming;
}

/** Returns how many of the freed bytes were forgiven, and did not count anyway. */
function forgivenOf({ unreachable, most }: NonNullable<Ruled['garbage']>, freedBytes: number): number {
  return Math.min(unreachable, most) - Math.min(Math.max(0, unreachable - freedBytes), most);
}
