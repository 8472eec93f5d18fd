/**
 * Bounds: the limits of a group's members together, of a repository, of a push and of a file.
 *
 * They are asked after the groups have allowed. They never allow anything, and the first one that refuses is
 * told. A group's bound holds for each of its members, whatever their other groups allow. For each of the
 * other three the first step counts that has such a rule for the subject: the owner's groups, else the
 * default ones. In a group the strictest rule speaks, and of these groups the most generous one. So the
 * bounds of default groups hold for everybody until one of their own groups says otherwise.
 */

import type { Graces } from './grace.ts';
import {
  byStrictness,
  bytesWithReserved,
  type CountedRule,
  type DecidingRule,
  decidingAmong,
  decidingRule,
  type Judge,
  type Judging,
  judgedBy,
  judgedByIncoming,
  type Stored,
} from './judged.ts';
import {
  type ActiveAllowance,
  type BoundScope,
  boundScopes,
  type CompiledGroup,
  groupsWith,
  raisedGroup,
  subjectBit,
} from './policy.ts';
import { noUsage, type Subject } from './subjects.ts';

/** The groups of an owner with those of their rules that are bounds. */
export interface BoundGroups {
  readonly assigned: readonly CompiledGroup[];
  readonly defaults: readonly CompiledGroup[];
}

/** The members of a group together. */
export interface PooledBytes extends Stored {
  /** The graces of the group, by the names of its rules; absent: no limit has a grace. */
  readonly graces?: Graces;
}

/** The repository that an action grows; one that is not there yet stores nothing. */
export interface StoredRepository extends Stored {
  readonly name: string;
}

export interface IncomingFile {
  readonly bytes: number;
  /** The path in the repository, or the name of the file that is uploaded, where it is known. */
  readonly name?: string;
  /** The id of the object that has its content, where it is known. */
  readonly object?: string;
}

/** The data that an action brings. */
export interface Incoming {
  /** Null: cannot be told. */
  readonly bytes: number | null;
  /** The largest of the files; null: cannot be told. */
  readonly largest: IncomingFile | null;
}

/** The things that bounds are about, as far as they are known. */
export interface BoundedThings {
  /** Absent: groups are not asked. */
  readonly pools?: ((group: string) => PooledBytes) | undefined;
  /** Absent or null: the action is not about a repository. */
  readonly repository?: StoredRepository | null | undefined;
  /** Absent: nothing of it can be told. */
  readonly incoming?: Incoming | undefined;
}

/** The part of a decision that a bound adds. */
export interface BoundDetails {
  readonly per: BoundScope;
  /** Bytes that the owner has of those that a group's members have together. */
  readonly share?: number;
  /** The name of the repository. */
  readonly unit?: string;
  readonly file?: IncomingFile;
}

interface AskedBound {
  readonly step: 'assigned' | 'defaults';
  readonly deciding: DecidingRule;
  readonly details: BoundDetails;
}

interface BoundAnswers {
  /** In the order in which they are asked, up to the first that refuses. */
  readonly asked: readonly AskedBound[];
  /** Bounds that hold, and that could not be asked, because nobody knows what they are about. */
  readonly unasked: readonly BoundScope[];
}

interface BoundQuestion extends BoundedThings {
  readonly bounds: BoundGroups;
  readonly allowance: ActiveAllowance | null | undefined;
  readonly subject: Subject;
  readonly judging: Judging;
}

/** Asks the bounds until one of them refuses. */
export function askBounds(question: BoundQuestion): BoundAnswers {
  const asked: AskedBound[] = [];
  const unasked: BoundScope[] = [];
  const groups = [...question.bounds.assigned, ...question.bounds.defaults];
  for (const per of boundScopes) {
    // Most scopes have no rule, and each check asks for all of them.
    if (!groups.some(({ rules }) => rules.some(rule => rule.per === per))) continue;
    const found = per === 'group' ? poolsOf(question) : boundOf(per, question);
    if (found === 'unknown') unasked.push(per);
    else asked.push(...found);
    if (asked.some(({ deciding }) => deciding.verdict === 'refuses')) break;
  }
  return { asked, unasked };
}

/** The rules of one kind that cover the subject, with allowances on top, in groups that have some. */
export function boundsAt(
  per: BoundScope,
  groups: readonly CompiledGroup[],
  subject: Subject,
  allowance: ActiveAllowance | null | undefined,
): readonly CompiledGroup[] {
  const asked = subjectBit(subject);
  const having = groupsWith(groups, rule => rule.per === per && (rule.covers & asked) !== 0).filter(
    ({ rules }) => rules.length > 0,
  );
  return allowance === null || allowance === undefined
    ? having
    : having.map(group => raisedGroup(group, allowance));
}

/** The pools of an owner, the one that leaves least first. */
function poolsOf(question: BoundQuestion): readonly AskedBound[] | 'unknown' {
  const { bounds, allowance, subject } = question;
  const found: AskedBound[] = [];
  for (const group of boundsAt('group', bounds.assigned, subject, allowance)) {
    const { judge, detailsOf } = judgeOf('group', group.name, question);
    const deciding = decidingRule(group, subjectBit(subject), judge);
    if (deciding === null) continue;
    if (detailsOf === null) return 'unknown';
    found.push({ step: 'assigned', deciding, details: detailsOf(deciding) });
  }
  return found.sort((a, b) => byStrictness(a.deciding, b.deciding));
}

/** At most one, that of the first step that has such a rule; `unknown`: it has one, and nobody can ask it. */
function boundOf(per: BoundScope, question: BoundQuestion): readonly AskedBound[] | 'unknown' {
  const { bounds, allowance, subject } = question;
  for (const step of ['assigned', 'defaults'] as const) {
    const groups = boundsAt(per, bounds[step], subject, allowance);
    const { judge, detailsOf } = judgeOf(per, null, question);
    const deciding = decidingAmong(groups, subjectBit(subject), judge);
    if (deciding === null) continue;
    if (detailsOf !== null) return [{ step, deciding, details: detailsOf(deciding) }];
    return deciding.rule.limitBytes === -1 ? [] : 'unknown';
  }
  return [];
}

interface BoundJudge {
  readonly judge: Judge;
  /** Null: nobody knows what it is about. */
  readonly detailsOf: ((counted: CountedRule) => BoundDetails) | null;
}

/** `group` is the one whose members a bound of that kind is about. */
export function judgeOf(
  per: BoundScope,
  group: string | null,
  { pools, repository, incoming, judging }: BoundedThings & Pick<BoundQuestion, 'judging'>,
): BoundJudge {
  const judgeStored = (stored: Stored | undefined): Judge => {
    // The graces of the owner are of other limits.
    const own = { ...judging, graces: undefined, ...(stored ?? nothingStored) };
    return rule => judgedBy(rule, own);
  };
  if (per === 'group') {
    const pool = group === null ? undefined : pools?.(group);
    const share = (counted: CountedRule) =>
      Math.min(bytesWithReserved(judging, counted.rule.counts), counted.used);
    return {
      judge: judgeStored(pool),
      detailsOf: pool === undefined ? null : counted => ({ per, share: share(counted) }),
    };
  }
  if (per === 'repository') {
    const { name, ...stored } = repository ?? nothingStored;
    return { judge: judgeStored(stored), detailsOf: name === undefined ? null : () => ({ per, unit: name }) };
  }
  const largest = incoming?.largest ?? null;
  const bytes = (per === 'push' ? incoming?.bytes : largest?.bytes) ?? null;
  const details = per === 'file' && largest !== null ? { per, file: largest } : { per };
  return {
    judge: rule => judgedByIncoming(rule, bytes ?? 0),
    detailsOf: bytes === null ? null : () => details,
  };
}

const nothingStored: Stored & { readonly name?: string } = {
  usage: noUsage,
  reserved: null,
  unreachable: null,
};
