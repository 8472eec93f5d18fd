/**
 * The policy that administrators set: rules, groups and memberships, as documents.
 *
 * `Policy` reads a snapshot or a change set, so that a change can be examined before it is made.
 */

export {
  type AllowanceDocument,
  allowanceFaults,
  allowanceIn,
  allowanceKind,
  allowancesOf,
  auditAllowance,
  createAllowance,
  endAllowance,
  everyAllowance,
  forgetAllowances,
  hasAllowances,
  type NewAllowance,
} from './allowances.ts';
export { assign, assignedGroups, forgetAssignments, setGroups, unassign } from './assignments.ts';
export {
  addRuleToGroup,
  createGroup,
  deleteGroup,
  groupNamed,
  groupsIn,
  groupWithRules,
  type NewGroup,
  removeRuleFromGroup,
} from './groups.ts';
export { assignmentKind, groupKind, mustBeGroup, mustBeRule, policyKinds, ruleKind } from './kinds.ts';
export { lintIn } from './lint.ts';
export { Policy } from './policy.ts';
export { replacePolicy, type WholeGroup, type WholePolicy } from './replace.ts';
export { createRule, deleteRule, editRule, type RuleEdit, ruleFaults, ruleNamed, rulesIn } from './rules.ts';
