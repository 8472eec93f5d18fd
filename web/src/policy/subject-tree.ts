/** Tree of subjects with ticks: a ticked subject includes everything below it. */

import {
  leafMask,
  type RuleSubject,
  type Subject,
  subjects,
  subjectsWithin,
  withAncestors,
} from '../../../src/quota/index.ts';

export interface Branch {
  readonly subject: Subject;
  readonly below: readonly Branch[];
}

type Tick = 'on' | 'partly' | 'off';

export const wholeTree: Branch = branch('size:all');

function branch(subject: Subject): Branch {
  const below = subjects.filter(each => withAncestors(each)[1] === subject);
  return { subject, below: below.map(branch) };
}

/** Returns how much of a subject the chosen ones cover. */
export function tickOf(chosen: readonly RuleSubject[], subject: Subject): Tick {
  const all = maskOf(chosen);
  const own = leafMask(subject);
  if ((all & own) === own) return 'on';
  return (all & own) === 0 ? 'off' : 'partly';
}

/**
 * Adds all of a subject, or removes it if it was covered completely. Returns the fewest subjects for the
 * result.
 */
export function toggled(chosen: readonly RuleSubject[], subject: Subject): readonly Subject[] {
  const own = leafMask(subject);
  const all = maskOf(chosen);
  return subjectsWithin(tickOf(chosen, subject) === 'on' ? all & ~own : all | own);
}

function maskOf(chosen: readonly RuleSubject[]): number {
  return chosen.reduce((mask, subject) => mask | leafMask(subject), 0);
}
