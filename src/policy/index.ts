/**
 * The policy as documents: rules, groups, memberships and allowances, and the requests of owners for more
 * space.
 *
 * `Policy` reads a snapshot or a change set, so that a change can be examined before it is made.
 */

export {
  type AllowanceDocument,
  allowanceIn,
  allowanceKind,
  allowancesOf,
  auditAllowance,
  createAllowance,
  dueAt,
  endAllowance,
  everyAllowance,
  stepToEnd,
} from './allowances.ts';
export {
  addRuleToGroup,
  assign,
  assignedGroups,
  createGroup,
  deleteGroup,
  eachGroup,
  endGroupModes,
  groupNamed,
  groupNamesIn,
  groupsIn,
  groupWithRules,
  removeRuleFromGroup,
  setGroups,
  unassign,
} from './groups.ts';
export { Policy, readInForce } from './policy.ts';
export {
  type LintSettings,
  lintApart,
  lintIn,
  listedTwice,
  replacePolicy,
  type WholeGroup,
  type WholePolicy,
} from './replace.ts';
export {
  type AutoGrant,
  ask,
  declineRequest,
  everyRequest,
  grantRequest,
  latestFirst,
  mustBeRequest,
  openRequests,
  type RequestEntry,
  requestKinds,
  requestsOf,
  withdraw,
} from './requests.ts';
export {
  assignmentKind,
  createRule,
  deleteRule,
  editRule,
  type GraceDocument,
  graceKind,
  groupKind,
  mustBeGroup,
  mustBeRule,
  policyKinds,
  poolGraceKind,
  type RuleEdit,
  ruleContent,
  ruleFaults,
  ruleFrom,
  ruleKind,
  ruleNamed,
  rulesIn,
} from './rules.ts';
