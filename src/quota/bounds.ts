/**
 * Bounds: the limits of a group's members together, of a repository, of a push and of a file.
 *
 * They are checked after the groups have allowed an action, and can only refuse it; the first one that
 * refuses is the decision. A group's bound applies to each of its members, whatever their other groups allow.
 * For the other three kinds, the first step with such a rule for the subject decides: the owner's groups, or
 * else the default ones. The strictest rule of a group decides for the group, and the most generous group of
 * the step decides. So a bound of a default group applies to all owners without such a bound in their own
 * groups.
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

/** The groups of an owner, with only the rules that are bounds. */
export interface BoundGroups {
  readonly assigned: readonly CompiledGroup[];
  readonly defaults: readonly CompiledGroup[];
}

/** The bytes of the members of a group together. */
export interface PooledBytes extends Stored {
  /** The graces of the group, by the names of its rules; absent: no limit has a grace. */
  readonly graces?: Graces;
}

/** The repository that an action grows; a new one has 0 bytes. */
export interface StoredRepository extends Stored {
  readonly name: string;
}

export interface IncomingFile {
  readonly bytes: number;
  /** The path in the repository, or the name of an uploaded file; absent: unknown. */
  readonly name?: string;
  /** The id of the object with the file's content; absent: unknown. */
  readonly object?: string;
}

/** The data that an action brings. */
export interface Incoming {
  /** Null: unknown. */
  readonly bytes: number | null;
  /** The largest of the files; null: unknown. */
  readonly largest: IncomingFile | null;
}

/** The things that bounds limit, as far as they are known. */
export interface BoundedThings {
  /** Returns the bytes of a group's members; absent: bounds of groups are not checked. */
  readonly pools?: ((group: string) => PooledBytes) | undefined;
  /** Absent or null: the action is not about a repository. */
  readonly repository?: StoredRepository | null | undefined;
  /** Absent: unknown. */
  readonly incoming?: Incoming | undefined;
}

/** The part of a decision that a bound adds. */
export interface BoundDetails {
  readonly per: BoundScope;
  /** The owner's part of the bytes of the group's members. */
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
  /** In the order of the checks, up to the first that refuses. */
  readonly asked: readonly AskedBound[];
  /** Bounds that apply, but could not be checked because the thing that they limit is unknown. */
  readonly unasked: readonly BoundScope[];
}

interface BoundQuestion extends BoundedThings {
  readonly bounds: BoundGroups;
  readonly allowance: ActiveAllowance | null | undefined;
  readonly subject: Subject;
  readonly judging: Judging;
}

/** Checks the bounds until one of them refuses. */
export function askBounds(question: BoundQuestion): BoundAnswers {
  const asked: AskedBound[] = [];
  const unasked: BoundScope[] = [];
  const groups = [...question.bounds.assigned, ...question.bounds.defaults];
  for (const per of boundScopes) {
    // A fast path, since most scopes have no rule, and each check of the gate goes through all of them.
    if (!groups.some(({ rules }) => rules.some(rule => rule.per === per))) continue;
    const found = per === 'group' ? poolsOf(question) : boundOf(per, question);
    if (found === 'unknown') unasked.push(per);
    else asked.push(...found);
    if (asked.some(({ deciding }) => deciding.verdict === 'refuses')) break;
  }
  return { asked, unasked };
}

/** Returns the groups with bounds of one kind that cover the subject, with only these, allowance added. */
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

/** Checks the bounds of an owner's groups, the strictest first. */
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

/** Checks the bound of the first step that has one. `unknown`: the thing that it limits is unknown. */
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
  /** Null: the thing that the bound limits is unknown. */
  readonly detailsOf: ((counted: CountedRule) => BoundDetails) | null;
}

/** Returns the judge for bounds of one kind. `group` names the group of a bound of members together. */
export function judgeOf(
  per: BoundScope,
  group: string | null,
  { pools, repository, incoming, judging }: BoundedThings & Pick<BoundQuestion, 'judging'>,
): BoundJudge {
  const judgeStored = (stored: Stored | undefined): Judge => {
    // The owner's graces belong to other limits.
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
