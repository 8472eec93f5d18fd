/** The summary for administrators. */

import { formatBytes, formatCount, formatMoment, printable } from '../text/index.ts';

export interface Summary {
  /** Milliseconds since 1970, as all moments here. */
  readonly since: number;
  readonly owners: { readonly owners: number; readonly over: number; readonly near: number };
  readonly storedBytes: number;
  /** Below 0 where it shrinks; null: not known yet. */
  readonly growthPerDay: number | null;
  readonly promisedBytes: number;
  readonly unlimitedOwners: number;
  /** Null: not known. */
  readonly freeBytes: number | null;
  /** When nothing is free any more; null: not within ten years, or not known. */
  readonly fullAt: number | null;
  readonly refusals: number;
  readonly openRequests: number;
  /** The owners who are nearest to a limit, with the percentage of it. */
  readonly worst: readonly { readonly name: string; readonly state: string; readonly fullness: number }[];
}

/** Percentage above which a limit is 0, of which no percentage can be named. */
const mostPercent = 1_000_000;

/** The values of the template. `dead`: how many notices could not be delivered. */
export function summaryValues(summary: Summary, dead: number): Readonly<Record<string, unknown>> {
  const { since, owners, storedBytes, growthPerDay, freeBytes, fullAt, worst } = summary;
  return {
    since: formatMoment(since),
    owners: formatCount(owners.owners),
    over: formatCount(owners.over),
    near: formatCount(owners.near),
    stored: formatBytes(storedBytes),
    growth: growthPerDay === null ? '' : growthWords(growthPerDay),
    promised: promisedWords(summary),
    free: freeBytes === null ? '' : formatBytes(freeBytes),
    full_at: fullAt === null ? '' : new Date(fullAt).toISOString().slice(0, 10),
    refusals: formatCount(summary.refusals),
    requests: formatCount(summary.openRequests),
    dead: dead === 0 ? '' : formatCount(dead),
    worst: worst.map(({ name, state, fullness }) => ({
      name: printable(name),
      state,
      percent: fullness > mostPercent ? 'over 0' : `${fullness} %`,
    })),
  };
}

function growthWords(perDay: number): string {
  const week = formatBytes(Math.abs(perDay) * 7);
  return perDay < 0 ? `${week} less each week` : `${week} more each week`;
}

function promisedWords({ promisedBytes, unlimitedOwners }: Summary): string {
  const without = unlimitedOwners === 0 ? '' : `, and ${formatCount(unlimitedOwners)} owners have no limit`;
  return `${formatBytes(promisedBytes)}${without}`;
}
