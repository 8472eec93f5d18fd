/** Compares what a Forgejo and softquota say about one owner: figures, and answers for each kind of data. */

import { leaves, type Subject, subjects, type Usage } from '../quota/index.ts';
import type { Explanation } from '../wire/index.ts';
import type { ForgejoGroup } from './forgejo.ts';
import { type DecisionReason, type ForgejoStanding, reasonsFor } from './forgejo-decision.ts';

export type UsageReason =
  /** Forgejo has the size of git's objects as of the last push; softquota has all files as of the last walk. */
  | 'measured_otherwise'
  /** Forgejo counts it for each repository or file that refers to it; softquota once for each owner. */
  | 'counted_once'
  | 'not_counted_there'
  | 'not_counted_here'
  | 'unexplained';

interface OfOwner<What extends string> {
  readonly owner: string;
  readonly what: What;
}

export interface DecisionDifference extends OfOwner<'decision'> {
  readonly subject: Subject;
  /** True: it may grow. */
  readonly theirs: boolean;
  readonly ours: boolean;
  readonly reasons: readonly DecisionReason[];
}

export interface UsageDifference extends OfOwner<'usage'> {
  readonly subject: Subject;
  /** Bytes. */
  readonly theirs: number;
  readonly ours: number;
  readonly reasons: readonly UsageReason[];
}

/** Only one of the two servers knows the owner. */
export interface OwnerDifference extends OfOwner<'owner'> {
  readonly theirs: boolean;
  readonly ours: boolean;
  readonly reasons: readonly ('unknown_here' | 'unknown_there')[];
}

/** That server does not answer about the owner. */
export interface OwnerNotAsked extends OfOwner<'not_asked'> {
  readonly message: string;
  readonly reasons: readonly ['unexplained'];
}

export type PolicyDifference = DecisionDifference | UsageDifference | OwnerDifference | OwnerNotAsked;

export interface Theirs {
  readonly usage: Usage;
  readonly groups: readonly ForgejoGroup[];
  readonly allowed: ReadonlyMap<Subject, boolean>;
}

export interface Ours {
  readonly usage: Usage;
  readonly explanations: ReadonlyMap<Subject, Explanation>;
}

/** The differences for one owner whom both know: those of figures first, then those of answers. */
export function compared(
  owner: string,
  theirs: Theirs,
  ours: Ours,
  totalBytes: number,
): readonly PolicyDifference[] {
  const standing: ForgejoStanding = { groups: theirs.groups, totalBytes };
  const figures = leaves.flatMap((subject, index): UsageDifference[] => {
    const [their, our] = [theirs.usage[index] ?? 0, ours.usage[index] ?? 0];
    if (their === our) return [];
    const reasons = [usageReason(subject, their, our)];
    return [{ owner, what: 'usage', subject, theirs: their, ours: our, reasons }];
  });
  const answers = subjects.flatMap((subject): DecisionDifference[] => {
    const allowed = theirs.allowed.get(subject);
    const explanation = ours.explanations.get(subject);
    if (allowed === undefined || explanation === undefined) return [];
    const ourAllowed = explanation.decision.allowed;
    if (allowed === ourAllowed) return [];
    const reasons = reasonsFor(
      { allowed, usage: theirs.usage, standing },
      { usage: ours.usage, explanation },
      subject,
    );
    return [{ owner, what: 'decision', subject, theirs: allowed, ours: ourAllowed, reasons }];
  });
  return [...figures, ...answers];
}

/** True where nothing that is known explains it. */
export function isUnexplained({ reasons }: PolicyDifference): boolean {
  return reasons.some(reason => reason === 'unexplained');
}

function usageReason(leaf: Subject, theirs: number, ours: number): UsageReason {
  if (leaf === 'size:assets:wiki') return 'not_counted_there';
  if (ours === 0) return 'not_counted_here';
  switch (leaf) {
    case 'size:repos:public':
    case 'size:repos:private':
      return 'measured_otherwise';
    case 'size:git:lfs':
    case 'size:assets:packages:all':
      return theirs > ours ? 'counted_once' : 'unexplained';
    default:
      return 'unexplained';
  }
}
