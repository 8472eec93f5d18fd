/**
 * A watcher: the thread that looks at the directories above the units again and again.
 *
 * It begins a pass every two seconds and works for a twentieth of the time, for a quarter in the first pass:
 * with so many directories that a pass takes longer, it takes longer. A disk that hangs holds up this thread,
 * which tells where it looks, so that it can be left behind for another one.
 */

import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Directories } from './directories.ts';
import type { Missed, WatcherReport, WatcherRequest, WatcherStart } from './messages.ts';
import { beginTask, monotonic, rest, shareLooks, viewOf } from './shared.ts';

const port = parentPort;
if (port === null) throw new Error('watcher.ts is run as a worker thread');

const everyMs = 2000;
const sliceMs = 10;
const restPerWork = { first: 3, later: 19 } as const;
const mostTogether = 500;

// The one who starts this thread gives it nothing else.
const { layout, roots, shared: buffer, ...start } = workerData as WatcherStart;
let { avoided } = start;
const shared = viewOf(buffer);
shareLooks(shared, () => avoided);
const all = roots.map(root => new Directories(layout, root));
beginTask(shared);
await pass(restPerWork.first);
for (;;) await pass(restPerWork.later);

async function pass(pausePerWork: number): Promise<void> {
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
      await pause(workedMs * pausePerWork);
      sliceBegun = monotonic();
    }
    await tellFound(directories);
  }
  const milliseconds = monotonic() - begun;
  const directories = all.reduce((sum, { size }) => sum + size, 0);
  await tell({ type: 'pass', missed, directories, milliseconds });
  await pause(Math.max(everyMs - milliseconds, (monotonic() - sliceBegun) * pausePerWork));
}

async function tellFound(directories: Directories): Promise<void> {
  const found = directories.takeFound();
  for (let first = 0; first < found.length; first += mostTogether)
    await tell({ type: 'found', paths: found.slice(first, first + mostTogether) });
}

async function pause(milliseconds: number): Promise<void> {
  rest(shared);
  await delay(milliseconds);
  beginTask(shared);
}

/** Tells something, and waits until it is taken. */
async function tell(report: WatcherReport): Promise<void> {
  if (port === null) return;
  rest(shared);
  port.postMessage(report);
  const [request] = await once(port, 'message');
  // The one who started this thread answers nothing else.
  ({ avoided } = request as WatcherRequest);
  beginTask(shared);
}
