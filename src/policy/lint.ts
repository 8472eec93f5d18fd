/** The faults of what is laid down, with who is in which group. */

import type { Snapshot } from '../documents/index.ts';
import { type LintFinding, lint, type QuotaSettings } from '../quota/index.ts';
import { groupsIn } from './groups.ts';
import { Policy } from './policy.ts';

/** `snapshot` is what is in force, or a changes. */
export function lintIn(
  snapshot: Snapshot,
  settings: QuotaSettings & { readonly defaultGroups: readonly string[] },
): readonly LintFinding[] {
  const policy = new Policy(snapshot);
  const groups = groupsIn(snapshot);
  const assignments = new Map(groups.map(({ name }) => [name, policy.membersOf(name).length]));
  return lint({ groups, defaultGroups: settings.defaultGroups, assignments, settings });
}
