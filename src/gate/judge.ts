/**
 * How a hook may judge a push that is refused: one that makes the repository smaller goes on.
 *
 * The data that such a push takes away stays on the disk until the server's next garbage collection, beside
 * all that it brings. So far over the limit that the disk would hold twice what it should, it must not bring
 * more than it frees. Where GARBAGE = forgive, what it takes away is forgiven up to a most; beyond that the
 * disk would fill by such pushes alone, so they have to wait for a collection.
 */

import { type Decision, type DiskFull, isLeaf, isRepository, type Subject } from '../quota/index.ts';

export type Judge = 'any' | 'less';

/** Returns what the header `X-Softquota-Judge` of an answer says; null: the push is not judged. */
export function judgeFor(decision: Decision | DiskFull, subject: Subject): Judge | null {
  // A push that makes the repository smaller brings its own bytes first.
  if (decision.allowed || decision.by === 'disk' || !isLeaf(subject) || !isRepository(subject)) return null;
  const { garbage } = decision;
  if (garbage !== undefined && garbage.unreachable >= garbage.most) return null;
  const isFar = decision.by === 'no_match' || decision.used - decision.limit > decision.limit;
  return isFar ? 'less' : 'any';
}
