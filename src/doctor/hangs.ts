/** An examination that ends, whatever disks do: what they keep from being looked at is a finding. */

import { commandLine, makeFinding } from '../health/index.ts';
import { printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import type { Examination } from './examine.ts';

/** An examination with a limit in time. */
interface LimitedExamination {
  /** Null: it did not end in its time. */
  readonly result: Examination | null;
  /** Mounts that do not answer. */
  readonly hangs: readonly string[];
}

/** The examination, and what was not looked at. */
export function withHangs({ result, hangs }: LimitedExamination): Examination {
  if (result === null) return { findings: [...added(hangs, []), notLooked(hangs)], checked: [] };
  return { ...result, findings: [...added(hangs, result.findings), ...result.findings] };
}

/** Findings that a daemon told already are not told twice. */
function added(mounts: readonly string[], findings: readonly Finding[]): Finding[] {
  const told = findings.filter(({ code }) => code === 'disk_hangs');
  return mounts
    .filter(mount => !told.some(({ message }) => message.includes(printable(mount))))
    .map(mount =>
      makeFinding(
        'disk_hangs',
        `the disk at ${printable(mount)} does not answer, so nothing on it was checked`,
        `find its server: ${commandLine('findmnt', '--mountpoint', mount)}`,
      ),
    );
}

function notLooked(mounts: readonly string[]): Finding {
  const isHung = mounts.length > 0;
  const message = isHung
    ? 'nothing else was checked, because doctor had to wait for the disk'
    : 'nothing was checked: doctor did not finish in time';
  return makeFinding(
    'not_looked',
    message,
    isHung ? 'fix this first, then run doctor again' : 'run doctor again',
  );
}
