/**
 * A watcher: the thread that looks at the directories above the units again and again.
 *
 * It begins a pass every two seconds and works for a twentieth of the time, for a quarter in the first pass:
 * with so many directories that a pass takes longer, it takes longer. A disk that hangs holds up this thread
 * and no other one.
 */

import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Directories } from './directories.ts';
import type { Missed, WatcherReport, WatcherStart } from './messages.ts';
import { monotonic } from './shared.ts';

const port = parentPort;
if (port === null) throw new Error('watcher.ts is run as a worker thread');

const everyMs = 2000;
const sliceMs = 10;
const restPerWork = { first: 3, later: 19 } as const;
const mostTogether = 500;

// The one who starts this thread gives it nothing else.
const { layout, roots } = workerData as WatcherStart;
const all = roots.map(root => new Directories(layout, root));
await pass(restPerWork.first);
for (;;) await pass(restPerWork.later);

async function pass(rest: number): Promise<void> {
  const begun = monotonic();
  let sliceBegun = begun;
  const missed: Missed[] = [];
  for (const directories of all) {
    const steps = directories.pass();
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) {
        missed.push(step.value);
        break;
      }
      const workedMs = monotonic() - sliceBegun;
      if (workedMs < sliceMs) continue;
      await tellFound(directories);
      await delay(workedMs * rest);
      sliceBegun = monotonic();
    }
    await tellFound(directories);
  }
  const milliseconds = monotonic() - begun;
  const directories = all.reduce((sum, { size }) => sum + size, 0);
  await tell({ type: 'pass', missed, directories, milliseconds });
  await delay(Math.max(everyMs - milliseconds, (monotonic() - sliceBegun) * rest));
}

async function tellFound(directories: Directories): Promise<void> {
  const found = directories.takeFound();
  for (let first = 0; first < found.length; first += mostTogether)
    await tell({ type: 'found', paths: found.slice(first, first + mostTogether) });
}

/** Tells something, and waits until it is taken. */
async function tell(report: WatcherReport): Promise<void> {
  port?.postMessage(report);
  if (port !== null) await once(port, 'message');
}
