/** An examination that ends, whatever disks do: what they keep from being looked at is a finding. */

import { commandLine } from '../health/index.ts';
import type { InTimeOutcome, Wait } from '../layout/index.ts';
import { printable } from '../text/index.ts';
import type { Finding } from '../wire/index.ts';
import { findingOf } from './check-result.ts';
import type { Examination } from './examine.ts';

/** The examination, and what was not looked at. */
export function withHangs({ result, waits }: InTimeOutcome<Examination>): Examination {
  if (result === null) return { findings: [...added(waits, []), notLooked(waits)], checked: [] };
  return { ...result, findings: [...added(waits, result.findings), ...result.findings] };
}

/** Findings that a daemon told already are not told twice. */
function added(waits: readonly Wait[], findings: readonly Finding[]): Finding[] {
  const told = findings.filter(({ code }) => code === 'disk_hangs');
  return waits
    .filter(({ place }) => !told.some(({ message }) => message.includes(printable(place))))
    .map(({ path, mountedAt }) =>
      findingOf(
        'disk_hangs',
        `the disk at ${printable(path)} does not answer, so nothing on it was checked`,
        `find its server: ${commandLine('findmnt', '--mountpoint', mountedAt)}`,
      ),
    );
}

function notLooked(waits: readonly Wait[]): Finding {
  if (waits.length === 0)
    return findingOf('not_looked', 'nothing was checked: doctor did not finish in time', 'run doctor again');
  return findingOf(
    'not_looked',
    'nothing else was checked, because doctor had to wait for the disk',
    'fix this first, then run doctor again',
  );
}
