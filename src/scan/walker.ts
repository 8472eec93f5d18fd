/**
 * A walker: the thread that measures units, a batch at a time.
 *
 * Results are handed over as they come, together where they come quickly, and never later than the
 * walk of the next unit needs for its first few directories.
 */

import { readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { systemCode } from '../errors.ts';
import { holdsRepository, inspect, type Layout, resolveLayout } from '../layout/index.ts';
import { noCache, openCache } from './cache.ts';
import type {
  NumberedResult,
  NumberedTask,
  ScanContext,
  SweepTask,
  WalkerReport,
  WalkerRequest,
  WalkerResult,
  WalkerStart,
} from './messages.ts';
import { beginTask, count, monotonic, move, rest, shareLooks, signal, viewOf } from './shared.ts';
import { unchangedNumbers, unchangedSince } from './unchanged.ts';
import type { Pulse } from './visit.ts';
import { walk } from './walk.ts';

const port = parentPort;
if (port === null) throw new Error('walker.ts is run as a worker thread');

// The one who starts this thread gives it nothing else.
const { shared, cacheFile } = workerData as WalkerStart;
const view = viewOf(shared);
const { signals, counts } = view;
let avoided: readonly string[] = [];
shareLooks(view, () => avoided);
const cache = cacheFile === null ? noCache : openCache(cacheFile, why => send({ type: 'cache fault', why }));

const millisecondsTogether = 50;
/** Number of files up to which a directory is read whole. */
const fewFiles = 50_000;
/** Measured: the 99th percentile of checks beside full walks falls by a third. */
const prioritySteps = 5;
const lowestPriority = 19;
let pending: NumberedResult[] = [];
let unchanged: number[] = [];
let sentAt = 0;
let hasLowPriority = false;

port.on('message', (request: WalkerRequest) => {
  if (request.type === 'close') {
    cache.close();
    port.close();
    return;
  }
  avoided = request.avoided;
  const isAsked = request.tasks.some(({ task }) => !('unit' in task));
  // For a sweep nobody waits, but checks would wait for it.
  if (!isAsked && !hasLowPriority) {
    lowerThreadPriority();
    hasLowPriority = true;
  }
  const last = request.tasks.at(-1);
  cache.readAhead(
    request.tasks.flatMap(({ task }) => ('unit' in task && task.trustsSignature ? [task.unit.path] : [])),
  );
  for (const task of request.tasks) {
    if (isSet(signal.stop) || isSet(signal.yield)) break;
    beginTask(view);
    counts[count.since] = monotonic();
    counts[count.task] = task.id;
    // Results are handed over during a walk too, so `pending` is another one after it.
    const result = resultOf(task, request.context);
    if (result.outcome === 'unchanged') unchanged.push(...unchangedNumbers(task.id, result));
    else pending.push({ id: task.id, result });
    if (task !== last) handOver();
  }
  counts[count.task] = 0;
  rest(view);
  // For a unit that is asked for somebody may wait; what a sweep writes is there for the next one.
  if (isAsked) sendResults(false);
  cache.flush();
  sendResults(true);
});

function send(report: WalkerReport): void {
  port?.postMessage(report);
}

function isSet(which: number): boolean {
  return Atomics.load(signals, which) === 1;
}

function handOver(): void {
  if (monotonic() - sentAt < millisecondsTogether) return;
  if (pending.length > 0 || unchanged.length > 0) sendResults(false);
}

function sendResults(isLast: boolean): void {
  send({ type: 'results', results: pending, unchanged, isLast });
  pending = [];
  unchanged = [];
  sentAt = isLast ? 0 : monotonic();
}

function resultOf(numbered: NumberedTask, context: ScanContext): WalkerResult {
  try {
    const { task } = numbered;
    if ('unit' in task) return measured(task, numbered, context);
    let { layout } = context;
    let located = inspect(layout, task.path);
    if (located.found === 'unread') {
      // A file system may have been mounted since the layout was made.
      layout = resolveLayout(context.storages, context.exclude);
      located = inspect(layout, task.path);
    }
    if (located.found === 'unread') return { outcome: 'unread', path: located.path, error: located.error };
    if (located.found === 'none') return { outcome: 'none', layout };
    return measured(located, numbered, context);
  } catch (error) {
    return {
      outcome: 'failed',
      why: error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
  }
}

function measured(
  task: SweepTask,
  { knownBytes, knownFiles, hasOwnTimes, quarantines }: NumberedTask,
  { exclude, measure, layout }: ScanContext,
): WalkerResult {
  const { unit, inner, trustsSignature = false, isAssumed = false } = task;
  const believesListing = knownFiles !== null && knownFiles < fewFiles;
  const request = {
    unit,
    inner,
    exclude: new Set(exclude),
    measure,
    knownBytes,
    believesListing,
    hasOwnTimes,
    quarantines,
  };
  const known = trustsSignature ? unchangedSince(request, cache, counting()) : null;
  if (known !== null) return known;
  if (isAssumed) {
    const found = lookInto(unit.path, layout);
    if (found !== null) return found;
  }
  const outcome = walk(request, cache, counting());
  return 'bytes' in outcome ? { ...outcome, unit, inner } : outcome;
}

/** Null where a directory holds a repository, else what is to be told of it. */
function lookInto(path: string, layout: Layout): WalkerResult | null {
  try {
    return holdsRepository(path) ? null : { outcome: 'none', layout };
  } catch (error) {
    const code = systemCode(error);
    if (code === null) throw error;
    return { outcome: 'unread', path, error: code };
  }
}

/** A pulse that adds to the counts. */
function counting(): Pulse {
  const [directories = 0, files = 0, bytes = 0] = counts;
  return tally => {
    move(view);
    counts[count.directories] = directories + tally.directories;
    counts[count.files] = files + tally.files;
    counts[count.bytes] = bytes + tally.bytes;
    handOver();
    return !isSet(signal.stop);
  };
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
