/** The result of a job that prints, and how a command ends with it. */

import { exitCodes, SoftquotaError } from '../errors.ts';
import { hangWords } from '../layout/index.ts';
import { print, tell } from './streams.ts';

export interface Printed {
  readonly output: string;
  /** Lines for standard error. */
  readonly notes: readonly string[];
  readonly status: number;
}

/** The end of a job that prints. */
interface PrintedOutcome {
  /** Null: it did not end in its time. */
  readonly result: Printed | null;
  /** Mounts that do not answer. */
  readonly hangs: readonly string[];
}

/**
 * Prints what a job came to, and tells which disks do not answer; returns the exit status. Throws `not_ready`
 * where the job came to nothing.
 */
export function printOutcome({ result, hangs }: PrintedOutcome): number {
  const lines = hangs.map(hangWords);
  if (result === null) {
    const why = lines.length > 0 ? lines : ['the command made no progress, and the reason is not known'];
    throw new SoftquotaError('not_ready', [...why, 'it may have done a part of its work'].join('\n'));
  }
  for (const line of result.notes) tell(`softquota: ${line}\n`);
  print(result.output);
  for (const line of lines) tell(`softquota: ${line}\n`);
  return hangs.length > 0 ? exitCodes.unreachable : result.status;
}
