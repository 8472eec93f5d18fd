/**
 * Entry of a process that does the work of a command, since disks may block that work. It avoids disks that
 * do not answer.
 *
 * In: a `JobOrder`. Out: a `JobAnswer`. Exit: 0, or another status if the work could not be done.
 */

import { SoftquotaError } from '../errors.ts';
import { DiskHangs, isWithin, watchLooks } from '../layout/index.ts';
import type { Job, JobAnswer, JobOrder } from './job.ts';

process.once('message', (order: JobOrder) => void work(order));
// The command has ended: nobody waits for the work.
process.once('disconnect', () => process.exit());

async function work({ job, hung }: JobOrder): Promise<void> {
  const met = new Set<string>();
  watchLooks(path => {
    const place = hung.find(mount => isWithin(path, mount));
    if (place === undefined) return;
    met.add(place);
    throw new DiskHangs(path);
  });
  const outcome = await outcomeOf(job);
  process.send?.({ ...outcome, hangs: [...met] } satisfies JobAnswer, () => process.exit());
}

/** Answers with faults and hanging disks. Any other error is a bug, and is thrown. */
async function outcomeOf(job: Job) {
  try {
    return { result: await done(job) };
  } catch (error) {
    if (error instanceof SoftquotaError) return { fault: { code: error.code, message: error.message } };
    if (error instanceof DiskHangs) return { fault: { code: 'not_ready', message: error.message } as const };
    throw error;
  }
}

async function done(job: Job): Promise<unknown> {
  switch (job.job) {
    case 'doctor': {
      const { examination } = await import('./doctor.ts');
      return examination(job.options);
    }
    case 'hooks': {
      const { workOnHooks } = await import('./hooks-work.ts');
      return workOnHooks(job.task);
    }
    case 'init': {
      const { initialise } = await import('./init-work.ts');
      return initialise(job.root, job.options);
    }
  }
}
