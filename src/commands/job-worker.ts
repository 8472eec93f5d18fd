/**
 * Run by itself, by commands whose work disks may keep waiting: does the work, and tells where it looks at
 * the disk.
 *
 * In: an order for a `Job`, on standard input. Out: reports on descriptor 3, the last one with what the work
 * came to. Exit: 0; else it could not be done.
 */

import { work } from '../layout/index.ts';
import type { Job } from './job.ts';
import { watchStreams } from './streams.ts';

watchStreams();
await work<Job>(async (task, parts) => {
  switch (task.job) {
    case 'doctor': {
      const { examination } = await import('./doctor-work.ts');
      return examination(task.options);
    }
    case 'hooks': {
      const { workOnHooks } = await import('./hooks-work.ts');
      return workOnHooks(task.task, parts);
    }
    case 'init': {
      const { initialise } = await import('./init-work.ts');
      return initialise(task);
    }
  }
});
