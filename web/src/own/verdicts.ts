/** Decisions for an owner; kinds of data with the same decision are combined. */

import {
  type Leaf,
  leafMask,
  leaves,
  type Subject,
  subjectsWithin,
  subjectWords,
} from '../../../src/quota/index.ts';
import type { OwnerState, OwnReport } from '../../../src/wire/index.ts';

export type StatedVerdict = OwnReport['decisions'][string];

export interface Ruling {
  readonly verdict: StatedVerdict;
  readonly leaves: readonly Leaf[];
  /** Kinds of data of the decision, as the fewest subjects that cover them. */
  readonly subjects: readonly Subject[];
}

/** Combines equal decisions. They are ordered by their first leaf. */
export function rulingsIn(decisions: OwnReport['decisions']): readonly Ruling[] {
  const alike = new Map<string, { verdict: StatedVerdict; leaves: Leaf[] }>();
  for (const leaf of leaves) {
    const verdict = decisions[leaf];
    if (verdict === undefined) continue;
    const { allowed, state, used, limit, group, rule, grace, warned } = verdict;
    const key = JSON.stringify([allowed, state, used, limit, group, rule, grace?.until, warned]);
    const known = alike.get(key);
    if (known === undefined) alike.set(key, { verdict, leaves: [leaf] });
    else known.leaves.push(leaf);
  }
  return [...alike.values()].map(each => ({ ...each, subjects: fewest(each.leaves) }));
}

/** Covers kinds of data by the fewest subjects. */
export function fewest(subjects: readonly Subject[]): readonly Subject[] {
  return subjectsWithin(subjects.reduce((mask, subject) => mask | leafMask(subject), 0));
}

/** Lists kinds of data: `private repositories, LFS objects`; all of them are one word. */
export function listWords(subjects: readonly Subject[]): string {
  return subjects.map(subjectWords).join(', ');
}

export function worstState(rulings: readonly Ruling[]): OwnerState {
  const all = new Set(rulings.map(({ verdict }) => verdict.state));
  return ownerStatesWorstFirst.find(state => all.has(state)) ?? 'ok';
}

const ownerStatesWorstFirst: readonly OwnerState[] = ['over', 'grace', 'near', 'ok'];
