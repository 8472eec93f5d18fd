/** Sentences about the growth of usage, and about the day on which the limit is reached. */

import { formatBytes } from '../../../src/text.ts';
import type { Growth } from '../../../src/wire/index.ts';

export function growthWords(growth: Growth | null): string {
  if (growth === null) return 'Growth is shown after two days of data.';
  const { per_day: perDay, used, limit, reached_at: reachedAt } = growth;
  const aWeek = `${formatBytes(Math.abs(perDay) * 7)} a week`;
  const isLimited = used !== null && limit !== null && limit >= 0;
  if (isLimited && used >= limit) return `${atLimit(limit)} ${rate(perDay, aWeek)}`;
  if (perDay <= 0 || !isLimited) return rate(perDay, aWeek);
  const end = reachedAt === null ? 'not reached within ten years' : `reached on ${dayWords(reachedAt)}`;
  return `At the present growth of ${aWeek} the limit is ${end}.`;
}

function atLimit(limit: number): string {
  return limit === 0 ? 'The limit is 0.' : `The limit of ${formatBytes(limit)} is reached.`;
}

function rate(perDay: number, aWeek: string): string {
  if (perDay === 0) return 'Usage has not changed in the last weeks.';
  return perDay > 0
    ? `Usage has grown by ${aWeek} in the last weeks.`
    : `Usage has fallen by ${aWeek} in the last weeks.`;
}

/** Formats the day in the reader's time zone: `2027-02-03`. */
export function dayWords(at: string): string {
  const date = new Date(at);
  const two = (number: number) => String(number).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
