/** What a request for more is filled in with: the space that usage and growth call for, and the figures. */

import { formatUse, writeSize } from '../../../src/text/index.ts';
import type { Growth, OwnReport, Verdict } from '../../../src/wire/index.ts';
import { dayWords, growthWords } from '../history/growth-words.ts';
import type { TypedMore } from '../parts/more-fields.tsx';

const days = 30;
const dayMs = 86_400_000;
/** Of the limit, where neither usage nor growth calls for more. */
const leastPart = 0.1;

export interface Proposal extends TypedMore {
  readonly why: string;
}

/** For thirty days from now: what is over the limit, and what comes to it at the present growth. */
export function proposal(report: OwnReport, growth: Growth | null, now: number): Proposal {
  const tightest = fullest(report);
  const { used = 0, limit = 0 } = tightest ?? {};
  const over = Math.max(0, (used ?? 0) - (limit ?? 0));
  const grown = Math.max(0, growth?.per_day ?? 0) * days;
  const least = Math.ceil((limit ?? 0) * leastPart);
  return {
    size: tightest === null ? '' : writeSize(roundedUp(Math.max(over + grown, least, 1))),
    lastDay: dayWords(new Date(now + days * dayMs).toISOString()),
    why: [...(tightest === null ? [] : [useSentence(tightest)]), growthWords(growth)].join(' '),
  };
}

/** The limited decision whose limit is the fullest; null: nothing has a limit above 0. */
function fullest({ decisions }: OwnReport): Verdict | null {
  const fullness = ({ used, limit }: Verdict) => (used ?? 0) / (limit ?? 1);
  return Object.values(decisions)
    .filter(({ limit }) => limit !== null && limit > 0)
    .reduce<Verdict | null>(
      (found, each) => (found === null || fullness(each) > fullness(found) ? each : found),
      null,
    );
}

function useSentence({ used, limit }: Verdict): string {
  const words = formatUse(used ?? 0, limit ?? 0);
  return `${words.used} of ${words.limit} are used (${words.percent}).`;
}

/** To two digits, so that it reads well. */
function roundedUp(bytes: number): number {
  const scale = 10 ** Math.max(0, Math.floor(Math.log10(bytes)) - 1);
  return Math.ceil(bytes / scale) * scale;
}
