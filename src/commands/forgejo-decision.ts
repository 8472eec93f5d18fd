/**
 * The answer of a Forgejo, and why softquota's is another one.
 *
 * Both answers are known. Between them lie the things that can differ: the figures, bytes that Forgejo counts
 * twice where the subjects of a rule overlap, rules and groups, and the settings of app.ini. They are changed
 * one after the other from Forgejo's to softquota's; each that turns the answer is a reason.
 */

import { bytesUnder, leafMask, type Subject, type Usage, withAncestors } from '../quota/index.ts';
import type { Explanation } from '../wire/index.ts';
import type { ForgejoGroup, ForgejoRule } from './forgejo.ts';

export type DecisionReason =
  | 'usage'
  | 'overlap'
  | 'policy'
  | 'enabled'
  | 'refuse_when'
  | 'uncovered'
  /** By its own groups and figures, that server should answer otherwise than it does. */
  | 'unexplained';

/** What decides at a Forgejo. */
export interface ForgejoStanding {
  /** Those that affect the owner: assigned, else the default ones of its app.ini. */
  readonly groups: readonly ForgejoGroup[];
  /** Its `[quota.default] TOTAL`, which counts where there is no group; no route tells it. -1: unlimited. */
  readonly totalBytes: number;
}

type Counting = (rule: ForgejoRule, usage: Usage) => number;

/** As Forgejo does: what lies below two of the rule's subjects counts twice. */
const eachSubject: Counting = ({ subjects }, usage) =>
  subjects.reduce((sum, subject) => sum + bytesUnder(usage, leafMask(subject)), 0);

const eachByteOnce: Counting = ({ subjects }, usage) =>
  bytesUnder(
    usage,
    subjects.reduce((mask, subject) => mask | leafMask(subject), 0),
  );

/**
 * Decides as Forgejo does: usage that reaches a limit refuses, and so does what no rule of the groups covers.
 */
export function forgejoAllows(
  { groups, totalBytes }: ForgejoStanding,
  usage: Usage,
  subject: Subject,
  counting = eachSubject,
): boolean {
  if (groups.length === 0) return isBelow(totalBytes, bytesUnder(usage, leafMask('size:all')));
  const covering = groups.map(({ rules }) => rules.filter(rule => covers(rule, subject)));
  return covering.some(
    rules => rules.length > 0 && rules.every(rule => isBelow(rule.limit, counting(rule, usage))),
  );
}

/** Tells why the answers differ; none where they do not. */
export function reasonsFor(
  theirs: { readonly allowed: boolean; readonly usage: Usage; readonly standing: ForgejoStanding },
  ours: { readonly usage: Usage; readonly explanation: Explanation },
  subject: Subject,
): readonly DecisionReason[] {
  const { explanation } = ours;
  const { enabled, uncovered } = explanation.settings;
  if (theirs.allowed === explanation.decision.allowed) return [];
  if (forgejoAllows(theirs.standing, theirs.usage, subject) !== theirs.allowed) return ['unexplained'];
  if (!enabled) return ['enabled'];
  const strict = firstStepAllows(explanation, (used, limit) => isBelow(limit, used));
  const steps: readonly (readonly [DecisionReason, boolean])[] = [
    ['usage', forgejoAllows(theirs.standing, ours.usage, subject)],
    ['overlap', forgejoAllows(theirs.standing, ours.usage, subject, eachByteOnce)],
    ['policy', strict],
    ['refuse_when', firstStepAllows(explanation, (_, __, verdict) => verdict === 'allows')],
    [uncovered === 'default' ? 'uncovered' : 'policy', explanation.decision.allowed],
  ];
  let before = theirs.allowed;
  return steps.flatMap(([reason, after]) => {
    const turned = before !== after;
    before = after;
    return turned ? [reason] : [];
  });
}

/**
 * The answer if what no rule of the first groups covers were refused, as at a Forgejo, with a verdict on each
 * covering rule.
 */
function firstStepAllows(
  { steps: [first] }: Explanation,
  allows: (used: number, limit: number, verdict: 'allows' | 'graced' | 'refuses') => boolean,
): boolean {
  return (
    first?.groups.some(
      ({ rules }) =>
        rules.length > 0 && rules.every(({ used, limit, verdict }) => allows(used, limit, verdict)),
    ) ?? false
  );
}

function isBelow(limit: number, used: number): boolean {
  return limit === -1 || used < limit;
}

function covers({ subjects }: ForgejoRule, subject: Subject): boolean {
  return withAncestors(subject).some(above => subjects.includes(above));
}
