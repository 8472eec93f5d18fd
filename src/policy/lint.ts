/** The faults of what is laid down, with who is in which group. */

import { ChangeSet, type Snapshot } from '../documents/index.ts';
import { type LintFinding, lint, type QuotaSettings } from '../quota/index.ts';
import { runToEnd } from '../slices.ts';
import { groupsIn } from './groups.ts';
import { Policy } from './policy.ts';
import { replacePolicy, type WholePolicy } from './replace.ts';

export type LintSettings = QuotaSettings & { readonly defaultGroups: readonly string[] };

/** `snapshot` is what is in force, or a changes. */
export function lintIn(snapshot: Snapshot, settings: LintSettings): readonly LintFinding[] {
  const policy = new Policy(snapshot);
  const groups = groupsIn(snapshot);
  const assignments = new Map(groups.map(({ name }) => [name, policy.membersOf(name).length]));
  return lint({ groups, defaultGroups: settings.defaultGroups, assignments, settings });
}

const nothing: Snapshot = { get: () => undefined, all: () => [], ofOwner: () => [] };

/** Finds the faults of a policy that is in force nowhere. Throws `invalid` if it cannot be a policy. */
export function lintApart(policy: Required<WholePolicy>, settings: LintSettings): readonly LintFinding[] {
  const changes = new ChangeSet(nothing);
  runToEnd(replacePolicy(changes, policy));
  return lintIn(changes, settings);
}
