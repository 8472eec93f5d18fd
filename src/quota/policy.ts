/**
 * Rules and groups, as administrators write them and as decisions read them.
 *
 * A compiled rule carries its subjects as bit masks, so that deciding is a few integer
 * operations for each rule. Its words stay beside them, for those who ask why.
 */

import { leafMask, type RuleSubject, type Subject, subjects, withAncestors } from './subjects.ts';

export interface Rule {
  readonly name: string;
  /** -1: unlimited; 0: may store nothing; never another negative number. */
  readonly limitBytes: number;
  readonly subjects: readonly RuleSubject[];
}

export interface Group {
  readonly name: string;
  readonly rules: readonly Rule[];
}

export interface CompiledRule {
  /** Null for the one rule of the built-in group. */
  readonly name: string | null;
  readonly limitBytes: number;
  readonly subjects: readonly RuleSubject[];
  /** The subjects that may be asked and that it covers, as `subjectBit`s. */
  readonly covers: number;
  /** The leaves whose bytes it counts, as in `leafMask`: overlapping subjects count once. */
  readonly counts: number;
}

export interface CompiledGroup {
  readonly name: string;
  readonly rules: readonly CompiledRule[];
}

const subjectBits: ReadonlyMap<Subject, number> = new Map(
  subjects.map((subject, index) => [subject, 1 << index]),
);

/** Where a subject stands in `CompiledRule.covers`. */
export function subjectBit(subject: Subject): number {
  return subjectBits.get(subject) ?? 0;
}

/** A rule covers a subject when it names the subject or one above it. */
function coverMask(named: readonly RuleSubject[]): number {
  return subjects
    .filter(subject => withAncestors(subject).some(above => named.includes(above)))
    .reduce((mask, subject) => mask | subjectBit(subject), 0);
}

export function compileRule(rule: Rule): CompiledRule {
  return {
    name: rule.name,
    limitBytes: rule.limitBytes,
    subjects: rule.subjects,
    covers: coverMask(rule.subjects),
    counts: rule.subjects.reduce((mask, subject) => mask | leafMask(subject), 0),
  };
}

export function compileGroup(group: Group): CompiledGroup {
  return { name: group.name, rules: group.rules.map(compileRule) };
}

const everything: readonly RuleSubject[] = Object.freeze(['size:all'] as const);
const coversEverything = coverMask(everything);
const countsEverything = leafMask('size:all');

/** The built-in group's rule, which stands below all others: `[quota.default] TOTAL` over everything. */
export function builtinRule(totalBytes: number): CompiledRule {
  return {
    name: null,
    limitBytes: totalBytes,
    subjects: everything,
    covers: coversEverything,
    counts: countsEverything,
  };
}
