/** Short texts for limits and usage. */

import { subjectWords } from '../../../src/quota/index.ts';
import { formatBytes, formatUse } from '../../../src/text/index.ts';
import type { Rule, Verdict } from '../../../src/wire/index.ts';

/** `at most 10 GB of LFS objects`. */
export function limitWords({ limit, subjects }: Pick<Rule, 'limit' | 'subjects'>): string {
  const what = subjects.length === 0 ? 'nothing' : subjects.map(subjectWords).join(', ');
  if (limit === -1) return `no limit for ${what}`;
  return limit === 0 ? `0 bytes of ${what}` : `at most ${formatBytes(limit)} of ${what}`;
}

/** `12.4 GB of 10 GB`. */
export function useWords({ used, limit }: Pick<Verdict, 'used' | 'limit'>): string {
  if (used === null || limit === null) return 'no rule';
  const words = formatUse(used, limit);
  return limit === -1 ? `${words.used}, no limit` : `${words.used} of ${words.limit}`;
}
