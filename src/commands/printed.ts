/** The result of a job that prints, and how a command ends with it. */

import { exitCodes, SoftquotaError } from '../errors.ts';
import { hangWords, type InTimeOutcome } from '../layout/index.ts';
import { counted } from '../text/index.ts';
import { print, tell } from './streams.ts';

export interface Printed {
  readonly output: string;
  /** Lines for standard error. */
  readonly notes: readonly string[];
  readonly status: number;
}

/**
 * Prints what a job came to, and tells which disks do not answer; returns the exit status. Throws `not_ready`
 * where the job came to nothing.
 */
export function printOutcome({ result, waits, parts }: InTimeOutcome<Printed>): number {
  const hangs = waits.map(hangWords);
  if (result === null) {
    const why = hangs.length > 0 ? hangs : ['the command makes no progress, and the reason is not known'];
    const left = parts === 0 ? 'nothing else was done' : 'were done before, and no others';
    const before = parts === 0 ? left : `${counted(parts, 'repository', 'repositories')} ${left}`;
    throw new SoftquotaError('not_ready', [...why, before].join('\n'));
  }
  for (const line of result.notes) tell(`softquota: ${line}\n`);
  print(result.output);
  for (const line of hangs) tell(`softquota: ${line}\n`);
  return waits.length > 0 ? exitCodes.unreachable : result.status;
}
