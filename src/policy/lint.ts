/** The faults of what is laid down, with who is in which group. */

import { type Finding, lint, type QuotaSettings } from '../quota/index.ts';
import type { View } from './documents.ts';
import { groupsIn } from './groups.ts';
import { Policy } from './policy.ts';

/** `view` is what is in force, or a draft. */
export function lintIn(
  view: View,
  settings: QuotaSettings & { readonly defaultGroups: readonly string[] },
): readonly Finding[] {
  const policy = new Policy(view);
  const groups = groupsIn(view);
  const assignments = new Map(groups.map(({ name }) => [name, policy.membersOf(name).length]));
  return lint({ groups, defaultGroups: settings.defaultGroups, assignments, settings });
}
