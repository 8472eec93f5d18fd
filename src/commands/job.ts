/** Work of a command that a process of its own does, since a disk may keep it waiting for ever. */

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type InTimeOutcome, runInTime } from '../layout/index.ts';
import { entryUrl } from '../package.ts';
import type { HooksTask } from './hooks-task.ts';
import type { InitTask } from './init-work.ts';
import type { ConfigOption } from './settings.ts';

export type Job =
  | { readonly job: 'doctor'; readonly options: ConfigOption }
  | { readonly job: 'hooks'; readonly task: HooksTask }
  | ({ readonly job: 'init' } & InitTask);

export interface JobTimes {
  /** How long it may wait for a disk before that is left alone. */
  readonly stuckMs: number;
  /** How long all of it may take; as long as it gets on, unless given. */
  readonly wholeMs?: number;
}

const worker = fileURLToPath(entryUrl('commands/job-worker'));

/** `Result`: what job-worker.ts comes to for such a job. */
export function runJob<Result>(task: Job, times: JobTimes): Promise<InTimeOutcome<Result>> {
  return runInTime<Job, Result>({
    task,
    start: () =>
      spawn(process.execPath, [worker], { stdio: ['pipe', 'ignore', 'inherit', 'pipe'], detached: true }),
    ...times,
  });
}
