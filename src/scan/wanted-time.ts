/** For how long a thread has wanted a processor, which tells whether it waits for disks. */

import { readFileSync } from 'node:fs';
import { count, monotonic, type Shared } from './shared.ts';

/**
 * Says for how long this thread has wanted a processor: all the rest it waited for disks. Where the system
 * does not tell, it says that it wanted one all the time.
 */
export function tellWanted({ counts }: Shared): void {
  counts[count.wantedMs] = wantedMs() ?? monotonic();
}

/** Source: `schedstat` in proc(5), times on a processor and of waiting for one, in nanoseconds. */
function wantedMs(): number | null {
  try {
    const [had = Number.NaN, waited = Number.NaN] = readFileSync('/proc/thread-self/schedstat', 'latin1')
      .split(' ')
      .map(Number);
    return (had + waited) / 1e6;
  } catch {
    return null;
  }
}
