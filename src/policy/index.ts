/**
 * What administrators lay down, in memory: rules, groups, and who is in which.
 *
 * Changes are drafted on the side, where they may fail half-way without harm; a draft is one write
 * of the store and comes into force as a whole. `Policy` reads a shelf or a draft, so that a change can be looked at
 * before it is made.
 */

export { assign, assignedGroups, forgetAssignments, setGroups, unassign } from './assignments.ts';
export { Draft, type Kind, Shelf, type Told, type View } from './documents.ts';
export {
  addRule,
  createGroup,
  deleteGroup,
  groupNamed,
  groupsIn,
  groupWithRules,
  type NewGroup,
  removeRule,
} from './groups.ts';
export { assignmentKind, groupKind, mustBeGroup, mustBeRule, policyKinds, ruleKind } from './kinds.ts';
export { lintIn } from './lint.ts';
export { Policy } from './policy.ts';
export { replacePolicy, type WholeGroup, type WholePolicy } from './replace.ts';
export { createRule, deleteRule, editRule, type RuleEdit, ruleFaults, ruleNamed, rulesIn } from './rules.ts';
