/** The problems that a sweep found: capped lists with exact counts. */

import type { Leftover, UnreadInUnit } from './outcome.ts';

/** Something that is not as it should be; `what` says it for a person. */
export interface WalkFault {
  readonly path: string;
  readonly what: string;
}

interface WalkProblems<Entry> {
  /** Number of problems. */
  readonly count: number;
  /** The first of them. */
  readonly first: readonly Entry[];
}

export interface Problems {
  readonly unread: WalkProblems<UnreadInUnit>;
  readonly faults: WalkProblems<WalkFault>;
  readonly leftovers: WalkProblems<Leftover>;
}

const mostListed = 1000;

/** A list that counts on where it is full. */
export class CountedList<Entry> implements WalkProblems<Entry> {
  readonly first: Entry[] = [];
  count = 0;

  /** `others` more are known of, beyond these. */
  add(entries: readonly Entry[], others = 0): void {
    this.count += entries.length + others;
    this.first.push(...entries.slice(0, Math.max(0, mostListed - this.first.length)));
  }
}
