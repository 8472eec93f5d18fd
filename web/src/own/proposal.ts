/** Initial values of a request for more space, from usage and growth. */

import { formatBytes, formatUse, printable, writeSize } from '../../../src/text.ts';
import type { Growth, OwnReport, Verdict } from '../../../src/wire/index.ts';
import { dayWords, growthWords } from '../history/growth-words.ts';

const usualDays = 30;
const daySeconds = 86_400;
/** Smallest share of the limit to ask for. */
const leastPart = 0.1;

interface ProposalFigures extends Pick<OwnReport, 'auto_grant'> {
  readonly decisions: Readonly<Record<string, Verdict>>;
}

type AutoGrant = NonNullable<OwnReport['auto_grant']>;

/** Text in a form that asks for more. */
export interface TypedMore {
  readonly size: string;
  /** `2027-01-31`. */
  readonly lastDay: string;
}

export interface Proposal extends TypedMore {
  readonly why: string;
}

/**
 * Proposes the bytes over the limit and the growth of thirty days, or of the time that is granted at once.
 */
export function proposal(report: ProposalFigures, growth: Growth | null, now: number): Proposal {
  const { auto_grant: autoGrant } = report;
  const days = Math.min(usualDays, Math.max(1, Math.floor((autoGrant?.seconds ?? Infinity) / daySeconds)));
  const tightest = fullest(report);
  const { used = 0, limit = 0 } = tightest ?? {};
  const over = Math.max(0, (used ?? 0) - (limit ?? 0));
  const grown = Math.max(0, growth?.per_day ?? 0) * days;
  const least = Math.ceil((limit ?? 0) * leastPart);
  return {
    size: tightest === null ? '' : writeSize(roundedUp(Math.max(over + grown, least, 1))),
    lastDay: dayWords(new Date(now + days * daySeconds * 1000).toISOString()),
    why: [
      ...(tightest === null ? [] : [useSentence(tightest)]),
      ...(growth === null ? [] : [growthWords(growth)]),
    ].join(' '),
  };
}

/** Returns `Up to 2 GB for at most 30 days are granted at once, once in 90 days.` */
export function autoGrantWords({ bytes, seconds, every_seconds: every }: AutoGrant): string {
  return `Up to ${formatBytes(bytes)} for at most ${spanWords(seconds)} are granted at once, once in ${spanWords(every)}.`;
}

/** Formats a span in days; below two days in hours. */
function spanWords(seconds: number): string {
  const days = Math.round(seconds / daySeconds);
  if (days >= 2) return `${days} days`;
  const hours = Math.max(1, Math.round(seconds / 3600));
  return hours === 1 ? 'an hour' : `${hours} hours`;
}

/** Returns the decision with the highest percentage of a limit; null if no limit is above 0. */
function fullest({ decisions }: ProposalFigures): Verdict | null {
  const fullness = ({ used, limit }: Verdict) => (used ?? 0) / (limit ?? 1);
  return Object.values(decisions)
    .filter(({ limit }) => limit !== null && limit > 0)
    .reduce<Verdict | null>(
      (found, each) => (found === null || fullness(each) > fullness(found) ? each : found),
      null,
    );
}

function useSentence({ used, limit, group, per }: Verdict): string {
  const words = formatUse(used ?? 0, limit ?? 0);
  const who = per === 'group' ? ` by all members of ${printable(group ?? '')} together` : '';
  return `${words.used} of ${words.limit} are used${who} (${words.percent}).`;
}

/** Rounds up to two significant digits. */
function roundedUp(bytes: number): number {
  const scale = 10 ** Math.max(0, Math.floor(Math.log10(bytes)) - 1);
  return Math.ceil(bytes / scale) * scale;
}
