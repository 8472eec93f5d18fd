/**
 * The core: decides whether an action may start, and explains why.
 *
 * It has subjects and usage, rules and groups, the decision, its explanation and text, and a linter for
 * policies. All are pure functions over plain data: nothing here reads a disk, a clock or a setting, so the
 * same question always has the same answer.
 */

export type {
  BoundDetails,
  BoundedThings,
  Incoming,
  IncomingFile,
  PooledBytes,
  StoredRepository,
} from './bounds.ts';
export {
  decide,
  type PassedLimits,
  passedLimits,
  reachedThreshold,
  type Standing,
  standingIn,
} from './decide.ts';
export {
  type Decision,
  type DiskFull,
  type FullDisk,
  type Ruled,
  type RuledAllowed,
  type RuledRefused,
  refusedByDisk,
} from './decision.ts';
export {
  type ExplainedBound,
  type ExplainedGroup,
  type ExplainedRule,
  type ExplainedStep,
  type Explanation,
  explain,
} from './explain.ts';
export {
  type Grace,
  type GraceMost,
  type Graces,
  graceMostText,
  longestGraceMs,
  parseGraceMost,
  type RunningGrace,
} from './grace.ts';
export { decideIncoming, hasIncomingBounds, hasRepositoryBounds, leastFileBytes } from './incoming.ts';
export type { ReservedBytes } from './judged.ts';
export { type AskedHere, type FindingCode, type LintedPolicy, type LintFinding, lint } from './lint.ts';
export {
  decideByRepository,
  decidePools,
  passedPoolLimits,
  repositoryBoundsIn,
} from './listed-bounds.ts';
export { longestName, nameFault, ownerKey } from './names.ts';
export {
  type ActiveAllowance,
  type BoundScope,
  boundScopes,
  type CompiledGroup,
  compileGroup,
  type Group,
  isOfIncoming,
  limitFault,
  type QuotaSettings,
  type Rule,
  type RuleMode,
  type RuleScope,
  ruleModes,
  ruleScopes,
} from './policy.ts';
export { isDiskFilled, passesWithout } from './room.ts';
export {
  addBytes,
  asTree,
  bytesUnder,
  isLeaf,
  isRepository,
  isSubject,
  type Leaf,
  leafIndex,
  leafMask,
  leaves,
  noUsage,
  type RuleSubject,
  type Subject,
  subjects,
  subjectsWithin,
  totalOf,
  type Usage,
  usageOf,
  withAncestors,
} from './subjects.ts';
export {
  decidedBy,
  fullDiskWords,
  type Refusal,
  refusal,
  reportedRefusal,
  standing,
  subjectWords,
  warning,
} from './words.ts';
