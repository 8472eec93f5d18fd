/**
 * The core: decides whether an action may start, and explains why.
 *
 * It has subjects and usage, rules and groups, the decision, its explanation and text, and a linter for
 * policies. All are pure functions over plain data: nothing here reads a disk, a clock or a setting, so the
 * same question always has the same answer.
 */

export { decide, decideIncoming, leastFileBytes } from './decide.ts';
export {
  type BoundDetails,
  type BoundedThings,
  type Decision,
  type DecisionQuestion,
  type DiskFull,
  type FullDisk,
  type Incoming,
  type IncomingFile,
  isDiskFilled,
  type PooledBytes,
  passesWithout,
  type RefusalRecord,
  type ReservedBytes,
  type RuledAllowed,
  type RuledRefused,
  refusedByDisk,
  type StoredRepository,
  type UnaskedRecord,
} from './decision.ts';
export {
  type ExplainedBound,
  type ExplainedGroup,
  type Explanation,
  explain,
} from './explain.ts';
export { reachedThreshold } from './judged.ts';
export { type AskedHere, type LintedPolicy, type LintFinding, lint } from './lint.ts';
export {
  decideByRepository,
  decidePools,
  type PassedLimits,
  passedLimits,
  passedPoolLimits,
} from './listed.ts';
export {
  type ActiveAllowance,
  type BoundScope,
  boundScopes,
  type CompiledGroup,
  compileGroup,
  type Grace,
  type GraceMost,
  type Graces,
  type Group,
  graceMostText,
  hasBounds,
  isOfIncoming,
  limitFault,
  parseGraceMost,
  type QuotaSettings,
  type Rule,
  type RuleMode,
  type RuleScope,
  type RunningGrace,
  ruleModes,
  ruleScopes,
  type Standing,
  standingIn,
} from './policy.ts';
export {
  addBytes,
  asTree,
  bytesUnder,
  exactly,
  isLeaf,
  isRepository,
  isSubject,
  type Leaf,
  leafIndex,
  leafMask,
  leaves,
  longestName,
  nameFault,
  nameFaults,
  noUsage,
  ownerKey,
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
  standing,
  subjectWords,
  warning,
} from './words.ts';
