/**
 * Measures units, a batch at a time, on a thread.
 *
 * Results are handed over as they come, together where they come quickly, and never later than the
 * walk of the next unit needs for its first few directories.
 */

import { readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { systemCode } from '../errors.ts';
import { inspect, resolveLayout } from '../layout/index.ts';
import { type Cache, noCache, openCache } from './cache.ts';
import type {
  NumberedTask,
  ScanContext,
  SweepTask,
  TaskResult,
  WalkReport,
  WorkerQuestion,
} from './messages.ts';
import type { Unchanged } from './outcome.ts';
import { beginTask, count, monotonic, move, rest, type Shared, signal } from './shared.ts';
import { unchangedSince } from './unchanged.ts';
import type { Pulse } from './visit.ts';
import { walk } from './walk.ts';

const millisecondsTogether = 50;
/** Measured: the 99th percentile of checks beside full walks falls by a third. */
const prioritySteps = 5;
const lowestPriority = 19;

/** This thread's; null before its first walk. */
let cache: Cache | null = null;
let cacheFaults: string[] = [];
let hasLowPriority = false;

/**
 * Walks until all is walked or a signal says to leave off; what comes before the last results goes to `send`.
 */
export function walkAll(
  { tasks, context, cacheFile }: Extract<WorkerQuestion, { readonly ask: 'walk' }>,
  shared: Shared,
  send: (report: WalkReport) => void,
): WalkReport {
  const { signals, counts } = shared;
  const opened = cache ?? (cacheFile === null ? noCache : openCache(cacheFile, why => cacheFaults.push(why)));
  cache = opened;
  const isSet = (which: number): boolean => Atomics.load(signals, which) === 1;
  const isAsked = tasks.some(({ task }) => !('unit' in task));
  // For a sweep nobody waits, but checks would wait for it.
  if (!isAsked && !hasLowPriority) {
    lowerThreadPriority();
    hasLowPriority = true;
  }
  let results: [number, TaskResult | Unchanged][] = [];
  let sentAt = 0;
  const report = (): WalkReport => {
    const told = { results, cacheFaults };
    results = [];
    cacheFaults = [];
    return told;
  };
  const handOver = (): void => {
    if (results.length === 0 || monotonic() - sentAt < millisecondsTogether) return;
    send(report());
    sentAt = monotonic();
  };
  /** A pulse that adds to the counts. */
  const counting = (): Pulse => {
    const [directories = 0, files = 0, bytes = 0] = counts;
    return tally => {
      move(shared);
      counts[count.directories] = directories + tally.directories;
      counts[count.files] = files + tally.files;
      counts[count.bytes] = bytes + tally.bytes;
      handOver();
      return !isSet(signal.stop);
    };
  };
  for (const task of tasks) {
    if (isSet(signal.stop) || isSet(signal.yield)) break;
    beginTask(shared);
    counts[count.since] = monotonic();
    counts[count.task] = task.id;
    // Results are handed over during a walk too, so `results` is another list after it.
    const result = resultOf(task, context, opened, counting);
    results.push([task.id, result]);
    if (task !== tasks.at(-1)) handOver();
  }
  counts[count.task] = 0;
  // Writing to the cache is no look at the storage.
  rest(shared);
  // For a unit that is asked for somebody may wait; what a sweep writes is there for the next one.
  if (isAsked) send(report());
  opened.flush();
  return report();
}

function resultOf(
  numbered: NumberedTask,
  context: ScanContext,
  cache: Cache,
  counting: () => Pulse,
): TaskResult | Unchanged {
  try {
    const { task } = numbered;
    if ('unit' in task) return measured(task, numbered, context, cache, counting);
    let { layout } = context;
    let located = inspect(layout, task.path);
    if (located.found === 'unread') {
      // A file system may have been mounted since the layout was made.
      layout = resolveLayout(context.storages, context.exclude);
      located = inspect(layout, task.path);
    }
    if (located.found === 'unread') return { outcome: 'unread', path: located.path, error: located.error };
    if (located.found === 'none') return { outcome: 'none', layout };
    return measured(located, numbered, context, cache, counting);
  } catch (error) {
    return {
      outcome: 'failed',
      why: error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
  }
}

function measured(
  { unit, inner }: Pick<SweepTask, 'unit' | 'inner'>,
  { knownBytes, trustsSignature, hasOwnTimes, quarantines }: NumberedTask,
  { exclude, measure }: ScanContext,
  cache: Cache,
  counting: () => Pulse,
): TaskResult | Unchanged {
  const request = { unit, inner, exclude: new Set(exclude), measure, knownBytes, hasOwnTimes, quarantines };
  const known = trustsSignature ? unchangedSince(request, cache, counting()) : null;
  if (known !== null) return known;
  const outcome = walk(request, cache, counting());
  return 'bytes' in outcome ? { ...outcome, unit, inner } : outcome;
}

/**
 * Lowers the priority of this thread, for good: only root may raise it again. Where the system knows no
 * priorities of threads, or does not let one be set, it stays as it is.
 */
function lowerThreadPriority(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    setPriority(thread, Math.min(getPriority(thread) + prioritySteps, lowestPriority));
  } catch (error) {
    if (systemCode(error) === null) throw error;
  }
}
