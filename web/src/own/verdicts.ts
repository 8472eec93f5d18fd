/** What is decided for an owner, told once for all kinds of data that the same rule decides for alike. */

import {
  type Leaf,
  leafMask,
  leaves,
  type Subject,
  subjectsWithin,
  subjectWords,
} from '../../../src/quota/index.ts';
import type { OwnReport, Verdict } from '../../../src/wire/index.ts';

export interface Ruling {
  readonly verdict: Verdict;
  readonly leaves: readonly Leaf[];
  /** The same kinds, in the fewest subjects. */
  readonly subjects: readonly Subject[];
}

/** In the order of `leaves`. */
export function rulingsIn(decisions: OwnReport['decisions']): readonly Ruling[] {
  const alike = new Map<string, { verdict: Verdict; leaves: Leaf[] }>();
  for (const leaf of leaves) {
    const verdict = decisions[leaf];
    if (verdict === undefined) continue;
    const { allowed, used, limit, group, rule } = verdict;
    const key = JSON.stringify([allowed, used, limit, group, rule]);
    const known = alike.get(key);
    if (known === undefined) alike.set(key, { verdict, leaves: [leaf] });
    else known.leaves.push(leaf);
  }
  return [...alike.values()].map(each => ({ ...each, subjects: fewest(each.leaves) }));
}

/** The same kinds of data, in as few subjects as there can be. */
export function fewest(subjects: readonly Subject[]): readonly Subject[] {
  return subjectsWithin(subjects.reduce((mask, subject) => mask | leafMask(subject), 0));
}

/** `Everything`, or the kinds as an enumeration: `private repositories, LFS objects`. */
export function listWords(subjects: readonly Subject[]): string {
  return subjects.map(subjectWords).join(', ');
}

export type Nearness = 'refused' | 'near' | 'fine';

/** `warnAt` in percent, ascending. */
export function nearness({ allowed, used, limit }: Verdict, warnAt: readonly number[]): Nearness {
  if (!allowed) return 'refused';
  const [lowest] = warnAt;
  if (lowest === undefined || used === null || limit === null || limit <= 0) return 'fine';
  return used / limit >= lowest / 100 ? 'near' : 'fine';
}

/** Of several, the one that matters most. */
export function worst(rulings: readonly Ruling[], warnAt: readonly number[]): Nearness {
  const all = new Set(rulings.map(({ verdict }) => nearness(verdict, warnAt)));
  if (all.has('refused')) return 'refused';
  return all.has('near') ? 'near' : 'fine';
}
