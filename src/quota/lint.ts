/** Faults of a policy. */

import type { QuotaSettings } from './decide.ts';
import type { Group } from './policy.ts';
import type { Subject } from './subjects.ts';

export interface LintedPolicy {
  readonly groups: readonly Group[];
  readonly defaultGroups: readonly string[];
  /** Group to the number of owners assigned to it. */
  readonly assignments?: ReadonlyMap<string, number>;
  readonly settings: QuotaSettings;
}

export interface Finding {
  readonly code:
    | 'uncovered_subject'
    | 'unreachable_rule'
    | 'missing_default_group'
    | 'empty_group'
    | 'matches_nothing';
  readonly group?: string;
  readonly rule?: string;
  readonly subject?: Subject;
  readonly message: string;
}

export function lint(policy: LintedPolicy): readonly Finding[] {
  const existing = new Set(policy.groups.map(group => group.name));
  return policy.defaultGroups
    .filter(name => !existing.has(name))
    .map(name => ({ code: 'missing_default_group', group: name, message: `There is no group "${name}".` }));
}
