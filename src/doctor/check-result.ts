/** The result of a check. */

import type { Finding } from '../health/index.ts';
import { type DaemonFindingCode, daemonFindings } from '../health/index.ts';
import { type DoctorCode, doctorFindings } from './catalog.ts';

export interface CheckResult {
  readonly findings: readonly Finding[];
  /** The things that were looked at, in a few words with their numbers. */
  readonly checked?: readonly string[];
  /** The things that this user may not look at. */
  readonly missed?: readonly string[];
}

const catalog = { ...daemonFindings, ...doctorFindings };

/** `message` is one line, harmless on a terminal; `mend` can be followed as it stands. */
export function findingOf(code: DoctorCode | DaemonFindingCode, message: string, mend: string): Finding {
  return { code, severity: catalog[code].severity, message, mend };
}

/** All that several checks came back with. */
export function together(parts: readonly CheckResult[]): Required<CheckResult> {
  return {
    findings: parts.flatMap(part => part.findings),
    checked: parts.flatMap(part => part.checked ?? []),
    missed: parts.flatMap(part => part.missed ?? []),
  };
}
