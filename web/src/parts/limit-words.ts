/** Short texts for limits and usage. */

import { subjectWords } from '../../../src/quota/index.ts';
import { formatBytes, formatUse, writeDuration } from '../../../src/text/index.ts';
import type { Rule, Verdict } from '../../../src/wire/index.ts';

/** `at most 10 GB of LFS objects`, with what else the rule has. */
export function limitWords(rule: Omit<Rule, 'name'>): string {
  const { limit, subjects, mode } = rule;
  const what = subjects.length === 0 ? 'nothing' : subjects.map(subjectWords).join(', ');
  const limits = limit === 0 ? `0 bytes of ${what}` : `at most ${formatBytes(limit)} of ${what}`;
  const words = limit === -1 ? `no limit for ${what}` : limits;
  const grace = graceWords(rule);
  return [words, ...(grace === null ? [] : [grace]), ...(mode === 'report' ? ['report mode'] : [])].join(
    ', ',
  );
}

/** `grace 7d, up to 10 % over`; null: as configured. */
export function graceWords({ grace, grace_most: most }: Pick<Rule, 'grace' | 'grace_most'>): string | null {
  if (grace === 0) return 'no grace';
  const time = grace === undefined ? 'grace' : `grace ${writeDuration(grace * 1000)}`;
  if (most !== undefined) return `${time}, up to ${most} over`;
  return grace === undefined ? null : time;
}

/** `12.4 GB of 10 GB`. */
export function useWords({ used, limit }: Pick<Verdict, 'used' | 'limit'>): string {
  if (used === null || limit === null) return 'no rule';
  const words = formatUse(used, limit);
  return limit === -1 ? `${words.used}, no limit` : `${words.used} of ${words.limit}`;
}
