/** The result of a check. */

import type { Finding } from '../wire/index.ts';

export interface CheckResult {
  readonly findings: readonly Finding[];
  /** The things that were looked at, in a few words with their numbers. */
  readonly checked?: readonly string[];
  /** The things that this user may not look at. */
  readonly missed?: readonly string[];
}

/** All that several checks came back with. */
export function together(parts: readonly CheckResult[]): Required<CheckResult> {
  return {
    findings: parts.flatMap(part => part.findings),
    checked: parts.flatMap(part => part.checked ?? []),
    missed: parts.flatMap(part => part.missed ?? []),
  };
}
