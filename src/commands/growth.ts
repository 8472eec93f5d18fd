/** Growth of usage, in words. */

import { formatBytes } from '../text/index.ts';
import type { Growth } from '../wire/index.ts';

export function growthText({ per_day: perDay, since, reached_at: reachedAt }: Growth): string {
  const days = `a day since ${since.slice(0, 10)}`;
  if (perDay === 0) return `Usage has not changed since ${since.slice(0, 10)}.`;
  if (perDay < 0) return `Usage falls by ${formatBytes(-perDay)} ${days}.`;
  const until = reachedAt === null ? '' : `: the limit is reached on ${reachedAt.slice(0, 10)}`;
  return `Usage grows by ${formatBytes(perDay)} ${days}${until}.`;
}
